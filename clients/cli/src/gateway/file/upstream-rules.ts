import { resolve } from 'node:path';
import { isLoopback, parseHostName } from './addresses.js';
import { type CallRules, HTTP_CALLS, MCP_CALLS, readCallRules } from './call-rules.js';
import { readCredentials } from './credential-rules.js';
import type { FilePath } from './document.js';
import type { FaultList } from './fault-list.js';
import type { Credential, HttpUpstream, McpUpstream, Route } from './gateway-config.js';
import type { RouteInput, UpstreamInput } from './gateway-input.js';
import { listedHeaderFault, sentHeaderFault } from './header-rules.js';
import { readRoute } from './route-rules.js';
import { resourcePathFault } from '../../service-rules/resources.js';
import { subjectFault } from '../../service-rules/subjects.js';

/** A message is parsed in one step, and the SDK takes no larger ones by default. */
const MAX_MCP_BODY_BYTES = 4 * 1024 * 1024;
const NAME = /^[a-z][a-z0-9-]{0,39}$/;

/** The settings that hold for all upstreams of a file. */
export interface UpstreamContext {
  /** The folder of the file, to which its paths are relative. */
  readonly folder: string;
  readonly allowsPlainText: boolean;
  readonly faults: FaultList;
}

/** @returns null if the upstream has no usable URL */
export function readUpstream(
  name: string,
  input: UpstreamInput,
  { folder, allowsPlainText, faults }: UpstreamContext,
): HttpUpstream | McpUpstream | null {
  const path = ['upstreams', name];
  if (!NAME.test(name)) {
    faults.add(path, 'must have a name of 1 to 40 of "a" to "z", "0" to "9" and "-", beginning with a letter');
  }
  const { idempotencyHeader, ca, map, lock, ask } = input;
  const isMcp = input.mcp !== undefined;
  const url = readUpstreamUrl(input.mcp ?? input.url, [...path, isMcp ? 'mcp' : 'url'], allowsPlainText, faults);
  const calls = readCallRules(input, path, isMcp ? MCP_CALLS : HTTP_CALLS, faults);
  const credentials = readCredentials(input.credentials ?? [], [...path, 'credentials'], faults);
  if (idempotencyHeader !== undefined) checkIdempotencyHeader(idempotencyHeader, credentials, path, faults);
  const headers = readHeaders(input, credentials, path, faults);
  const routes = readRoutes(input.routes ?? [], [...path, 'routes'], calls, faults);
  if (isMcp) refuseUnserved(input, path, faults);
  if (isMcp && calls.maxBodyBytes > MAX_MCP_BODY_BYTES)
    faults.add([...path, 'maxBody'], `must be at most ${MAX_MCP_BODY_BYTES} for an MCP upstream`);
  if (url === null) return null;
  const base = {
    name,
    url,
    ...(ca !== undefined && { ca: resolve(folder, ca) }),
    hosts: readHosts(input.hosts ?? [], [...path, 'hosts'], faults),
    credentials,
    headers,
    ...(idempotencyHeader !== undefined && { idempotencyHeader }),
    ...calls,
  };
  if (!isMcp) return { ...base, kind: 'http', routes };
  return {
    ...base,
    kind: 'mcp',
    ...(map !== undefined && { map: resolve(folder, map) }),
    ...(lock !== undefined && { lock: resolve(folder, lock) }),
    ...(ask !== undefined && { ask: readSubjects(ask, [...path, 'ask'], faults) }),
  };
}

function readSubjects(subjects: readonly (string | undefined)[], path: FilePath, faults: FaultList): string[] {
  return subjects.flatMap((subject, index) => {
    if (subject === undefined) return [];
    const fault = subjectFault(subject);
    if (fault === undefined) return [subject];
    faults.add([...path, index], fault);
    return [];
  });
}

/** The host names of a list, as requests are compared with them. */
export function readHosts(hosts: readonly (string | undefined)[], path: FilePath, faults: FaultList): string[] {
  return hosts.flatMap((text, index) => {
    if (text === undefined) return [];
    const host = parseHostName(text);
    if (host !== undefined) return [host];
    faults.add([...path, index], 'must be a host name without a port, for example payments.gateway.internal');
    return [];
  });
}

function readUpstreamUrl(
  text: string | undefined,
  path: FilePath,
  allowsPlainText: boolean,
  faults: FaultList,
): URL | null {
  if (text === undefined) return null;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !['http:', 'https:'].includes(url.protocol) || url.host === '')
    return faults.reject(path, 'must be a URL, for example https://api.payments.example');
  if (url.username !== '' || url.password !== '')
    return faults.reject(path, 'must have no user name and password: name them under credentials');
  if (/[?#]/.test(text)) return faults.reject(path, 'must have no query and no fragment');
  if (url.protocol === 'http:' && !isLoopback(url.hostname) && !allowsPlainText)
    return faults.reject(path, 'must begin with https:// unless its host is a loopback address, or plainText is true');
  url.pathname = url.pathname.replace(/\/$/, '');
  const fault = url.pathname === '/' ? undefined : resourcePathFault(`${url.pathname}/x`);
  return fault === undefined ? url : faults.reject(path, `has a path that ${fault}`);
}

/** Members that no version of the gateway serves for MCP yet. */
function refuseUnserved(input: UpstreamInput, path: FilePath, faults: FaultList): void {
  for (const name of ['headers', 'idempotencyHeader'] as const)
    if (input[name] !== undefined) faults.add([...path, name], 'is not served for MCP upstreams: remove it');
}

function checkIdempotencyHeader(
  header: string,
  credentials: readonly Credential[],
  path: FilePath,
  faults: FaultList,
): void {
  const name = header.toLowerCase();
  const fault = sentHeaderFault(name) ?? listedHeaderFault(name, credentials);
  if (fault !== undefined) faults.add([...path, 'idempotencyHeader'], fault);
}

function readHeaders(
  { headers = [], idempotencyHeader }: UpstreamInput,
  credentials: readonly Credential[],
  path: FilePath,
  faults: FaultList,
): string[] {
  const names = headers.map((header) => header?.toLowerCase());
  return names.flatMap((name, index) => {
    if (name === undefined) return [];
    const fault = listedHeaderFault(name, credentials) ?? repetitionFault(name, index, names, idempotencyHeader);
    if (fault === undefined) return [name];
    faults.add([...path, 'headers', index], fault);
    return [];
  });
}

function repetitionFault(
  name: string,
  index: number,
  names: readonly (string | undefined)[],
  idempotencyHeader: string | undefined,
): string | undefined {
  if (name === idempotencyHeader?.toLowerCase()) return 'is the idempotencyHeader, which the gateway sets itself';
  return names.indexOf(name) < index ? 'is there twice' : undefined;
}

function readRoutes(
  inputs: readonly (RouteInput | undefined)[],
  path: FilePath,
  calls: CallRules,
  faults: FaultList,
): Route[] {
  return inputs.flatMap((input, index) => {
    const route = input === undefined ? null : readRoute(input, [...path, index], calls, faults);
    return route === null ? [] : [route];
  });
}
