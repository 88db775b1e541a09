import type { Credential, HttpUpstream, McpUpstream } from '../file/gateway-config.js';
import { Refusal } from './refusal.js';

/** The parts of a request's head that may hold a key. */
export interface RequestHead {
  /** Path and query below the upstream. */
  readonly target: string;
  /** Names and values alternate, as Node.js gives them. */
  readonly rawHeaders: readonly string[];
}

/** The sender of a request, and its head without the key. */
export interface CallerSearch extends RequestHead {
  readonly key: string;
}

/** Visible ASCII, as the service takes keys and tokens. */
const KEY = /^[\x21-\x7e]{1,8192}$/;
const BEARER = /^bearer +(\S+) *$/i;
const BASIC = /^basic +([A-Za-z0-9+/]+={0,2}) *$/i;

/**
 * Finds the one key or token of the caller, and removes it: in `X-API-Key`, in `Authorization: Bearer`, or where one of
 * the upstream's credentials goes.
 * @param upstream null for requests to the gateway itself
 * @throws Refusal 401 unless there is exactly one
 */
export function findCaller(head: RequestHead, upstream: HttpUpstream | McpUpstream | null): CallerSearch {
  const credentials = upstream?.credentials ?? [];
  const headers = takeHeaders(head.rawHeaders, credentials);
  const query = takeQuery(head.target, credentials);
  const [key, ...others] = [...headers.keys, ...query.keys];
  if (others.length > 0) throw unauthorized('The request has more than one key.', upstream);
  if (key === undefined) throw unauthorized('The request has no key.', upstream);
  if (key === null || !KEY.test(key)) throw unauthorized('The request has no readable key.', upstream);
  return { key, target: query.target, rawHeaders: headers.rest };
}

function unauthorized(message: string, upstream: HttpUpstream | McpUpstream | null): Refusal {
  const places = ['X-API-Key', 'Authorization: Bearer', ...(upstream?.credentials ?? []).map(placeText)];
  const advice = `Send the agent's key or token once, in one of: ${[...new Set(places)].join(', ')}.`;
  return new Refusal(401, null, `${message} ${advice}`);
}

function placeText(credential: Credential): string {
  if (credential.kind === 'query') return `the query parameter ${credential.name}`;
  return credential.kind === 'basic' ? 'Authorization: Basic' : `the header ${credential.name}`;
}

/** `keys` has null for a place that holds something else than a key. */
interface TakenHeaders {
  readonly keys: readonly (string | null)[];
  readonly rest: readonly string[];
}

function takeHeaders(rawHeaders: readonly string[], credentials: readonly Credential[]): TakenHeaders {
  const keys: (string | null)[] = [];
  const rest: string[] = [];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    const value = rawHeaders[index + 1] ?? '';
    const key = keyInHeader(name.toLowerCase(), value, credentials);
    if (key === undefined) rest.push(name, value);
    else keys.push(key);
  }
  return { keys, rest };
}

/** Returns the key in a header; null if it holds something else, undefined if no key is expected in it. */
function keyInHeader(name: string, value: string, credentials: readonly Credential[]): string | null | undefined {
  const own = credentials.find((credential) => credential.kind === 'header' && credential.name === name);
  if (name === 'authorization') return keyInAuthorization(value, credentials, own);
  if (own?.kind === 'header') return withoutText(value, own.value.before, own.value.after);
  return name === 'x-api-key' ? value : undefined;
}

function keyInAuthorization(
  value: string,
  credentials: readonly Credential[],
  own: Credential | undefined,
): string | null {
  const bearer = BEARER.exec(value)?.[1];
  if (bearer !== undefined) return bearer;
  const basic = BASIC.exec(value)?.[1];
  if (basic !== undefined) return keyInBasic(basic, credentials);
  return own?.kind === 'header' ? withoutText(value, own.value.before, own.value.after) : null;
}

/** Returns a key without the texts of the credential, which a client may put around it. */
function withoutText(value: string, before: string, after: string): string {
  const hasTexts = value.startsWith(before) && value.endsWith(after) && value.length > before.length + after.length;
  return hasTexts ? value.slice(before.length, value.length - after.length) : value;
}

/**
 * Returns the key in a Basic pair: the half that is neither empty nor the user of the upstream's credential. Null if
 * neither half can be the key, or the upstream has no Basic credential.
 */
function keyInBasic(encoded: string, credentials: readonly Credential[]): string | null {
  const own = credentials.find(({ kind }) => kind === 'basic');
  if (own?.kind !== 'basic') return null;
  const pair = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = pair.indexOf(':');
  if (colon < 0) return null;
  const [user, password] = [pair.slice(0, colon), pair.slice(colon + 1)];
  const isOther = (half: string): boolean => half === '' || half === own.user;
  if (password !== '' && isOther(user)) return password;
  return isOther(password) ? user : null;
}

interface TakenQuery {
  readonly keys: readonly (string | null)[];
  readonly target: string;
}

function takeQuery(target: string, credentials: readonly Credential[]): TakenQuery {
  const names = new Set(credentials.flatMap((credential) => (credential.kind === 'query' ? [credential.name] : [])));
  const mark = target.indexOf('?');
  if (names.size === 0 || mark < 0) return { keys: [], target };
  const keys: (string | null)[] = [];
  const rest: string[] = [];
  for (const part of target.slice(mark + 1).split('&')) {
    const [name = '', ...values] = part.split('=');
    if (names.has(decoded(name) ?? '')) keys.push(decoded(values.join('=')));
    else rest.push(part);
  }
  if (keys.length === 0) return { keys, target };
  const query = rest.join('&');
  return { keys, target: `${target.slice(0, mark)}${query === '' ? '' : `?${query}`}` };
}

/** Decodes a part of a query; null if its percent-encoding is malformed. */
function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return null;
  }
}
