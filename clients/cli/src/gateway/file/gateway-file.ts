import { dirname, extname, resolve } from 'node:path';
import { isLoopback, parseHostName, parseSocketAddress, type SocketAddress } from './addresses.js';
import { FileDocument, type FilePath, type PlacedFault } from './document.js';
import { FaultList } from './fault-list.js';
import { checkForm } from './form.js';
import type { GatewayConfig, HttpUpstream, McpUpstream } from './gateway-config.js';
import type { GatewayInput } from './gateway-input.js';
import { readRegularFile } from '../../regular-file.js';
import { readHosts, readUpstream } from './upstream-rules.js';

/** A file without faults. */
export interface GatewayFile {
  readonly config: GatewayConfig;
  readonly document: FileDocument;
}

const DEFAULT_LISTEN = '127.0.0.1:8088';
const DEFAULT_JOURNAL = './gateway-journal';

/** A file that cannot be used, with everything that is wrong in it, in the order of the file. */
export class GatewayFileError extends Error {
  constructor(
    readonly path: string,
    readonly faults: readonly PlacedFault[],
  ) {
    super(faults.map(({ line, column, message }) => `${path}:${line}:${column}: ${message}`).join('\n'));
    this.name = 'GatewayFileError';
  }
}

/**
 * @param defaultService the URL of the service where the file names none
 * @throws GatewayFileError; errors of reading the file
 */
export function readGatewayFile(path: string, defaultService: string): GatewayFile {
  return parseGatewayFile(readRegularFile(path), path, defaultService);
}

/** @throws GatewayFileError */
export function parseGatewayFile(text: string, path: string, defaultService: string): GatewayFile {
  const document = new FileDocument(text, extname(path).toLowerCase() === '.json');
  if (document.faults.length > 0) throw new GatewayFileError(path, document.faults);
  const faults = new FaultList();
  const input = checkForm(document.value, faults);
  const config = readConfig(input, { folder: dirname(resolve(path)), defaultService, faults });
  if (faults.faults.length > 0 || config === null) throw new GatewayFileError(path, placed(document, faults));
  return { config, document };
}

/** The faults with their places, in the order of the file. */
export function placed(document: FileDocument, { faults }: FaultList): PlacedFault[] {
  return faults
    .map((fault) => ({ ...document.placeOf(fault.path), message: fault.message }))
    .sort((one, other) => one.line - other.line || one.column - other.column);
}

interface ReadingContext {
  readonly folder: string;
  readonly defaultService: string;
  readonly faults: FaultList;
}

/** @returns null only after adding a fault */
function readConfig(input: GatewayInput, { folder, defaultService, faults }: ReadingContext): GatewayConfig | null {
  const { plainText = false, tls, oauth } = input;
  const listen = readAddress(input.listen ?? DEFAULT_LISTEN, ['listen'], faults);
  const metrics = input.metrics === undefined ? null : readAddress(input.metrics, ['metrics'], faults);
  if (listen !== null && !isLoopback(listen.host) && tls === undefined && !plainText)
    faults.add(['listen'], 'is an address that other machines can reach: it needs tls, or plainText: true');
  if (metrics !== null && !isLoopback(metrics.host) && !plainText)
    faults.add(['metrics'], 'is an address that other machines can reach: it needs plainText: true');
  const publicUrl = input.publicUrl === undefined ? null : readOrigin(input.publicUrl, ['publicUrl'], faults);
  const service = readServiceUrl(input.service ?? defaultService, faults);
  const upstreams = readUpstreams(input, { folder, allowsPlainText: plainText, faults });
  const names = readHosts(input.names ?? [], ['names'], faults);
  const issuers = readIssuers(oauth?.issuers ?? [], faults);
  if (listen === null || service === null) return null;
  return {
    listen,
    plainText,
    ...(tls?.cert !== undefined &&
      tls.key !== undefined && { tls: { cert: resolve(folder, tls.cert), key: resolve(folder, tls.key) } }),
    ...(publicUrl !== null && { publicUrl }),
    names,
    service,
    journal: resolve(folder, input.journal ?? DEFAULT_JOURNAL),
    ...(metrics !== null && { metrics }),
    issuers,
    upstreams,
  };
}

function readUpstreams(
  input: GatewayInput,
  context: Parameters<typeof readUpstream>[2],
): (HttpUpstream | McpUpstream)[] {
  const upstreams = Object.entries(input.upstreams ?? {}).flatMap(
    ([name, upstream]) => readUpstream(name, upstream, context) ?? [],
  );
  checkOwners(input, context.faults);
  return upstreams;
}

/** Adds a fault for each host that two upstreams have, even if an upstream has other faults. */
function checkOwners({ upstreams = {} }: GatewayInput, faults: FaultList): void {
  const owners = new Map<string, string>();
  for (const [name, { hosts = [] }] of Object.entries(upstreams)) {
    hosts.forEach((text, index) => {
      const host = text === undefined ? undefined : parseHostName(text);
      const owner = host === undefined ? undefined : owners.get(host);
      if (owner !== undefined)
        faults.add(['upstreams', name, 'hosts', index], `is also a host of the upstream ${owner}`);
      else if (host !== undefined) owners.set(host, name);
    });
  }
}

function readAddress(text: string, path: FilePath, faults: FaultList): SocketAddress | null {
  return (
    parseSocketAddress(text) ??
    faults.reject(path, 'must be an IP address or localhost, and a port, for example 127.0.0.1:8088')
  );
}

function readOrigin(text: string, path: FilePath, faults: FaultList): URL | null {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isOrigin =
    url?.protocol === 'https:' && [url.origin, `${url.origin}/`].includes(url.href) && !/[?#]/.test(text);
  return isOrigin ? url : faults.reject(path, 'must be an https origin, for example https://gateway.example.com');
}

function readServiceUrl(text: string, faults: FaultList): URL | null {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isUrl =
    url !== undefined && ['http:', 'https:'].includes(url.protocol) && url.username === '' && url.password === '';
  return isUrl && !/[?#]/.test(text)
    ? url
    : faults.reject(['service'], 'must be the URL of the service, for example https://governance.example.com');
}

function readIssuers(issuers: readonly (string | undefined)[], faults: FaultList): string[] {
  return issuers.flatMap((issuer, index) => {
    if (issuer === undefined) return [];
    const url = URL.canParse(issuer) ? new URL(issuer) : undefined;
    const isIssuer =
      url !== undefined && (url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname)));
    if (!isIssuer || /[?#]/.test(issuer))
      faults.add(
        ['oauth', 'issuers', index],
        'must be the https URL of an issuer, for example https://login.example.com',
      );
    return [issuer];
  });
}
