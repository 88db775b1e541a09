import { createHash } from 'node:crypto';
import { isTraceparent } from '../../../../typescript/src/trace-context.js';
import { Refusal } from './refusal.js';

/** The headers with which a client describes its request to the service. */
export interface AskHeaders {
  readonly onBehalfOf: string | null;
  readonly run: string | null;
  readonly idempotencyKey: string | null;
  /** Id of the execution whose unknown outcome the client accepts. */
  readonly repeat: string | null;
}

const KEY = /^[\x21-\x7e]{1,255}$/;

/** @throws Refusal 400 for a header that is repeated, empty or malformed */
export function readAskHeaders(rawHeaders: readonly string[]): AskHeaders {
  const key = singleValue(rawHeaders, 'idempotency-key');
  if (key !== null && !KEY.test(key))
    throw invalidHeader('Idempotency-Key', 'must have 1 to 255 visible ASCII characters without spaces');
  return {
    onBehalfOf: decodedValue(rawHeaders, 'Governance-On-Behalf-Of'),
    run: decodedValue(rawHeaders, 'Governance-Run'),
    idempotencyKey: key,
    repeat: singleValue(rawHeaders, 'governance-repeat'),
  };
}

/** Returns the trace of the request; null if its headers name none, or more than one. */
export function readTraceparent(rawHeaders: readonly string[]): string | null {
  const [traceparent = null, ...others] = new Set(headerValues(rawHeaders, 'traceparent'));
  return others.length === 0 && isTraceparent(traceparent) ? traceparent : null;
}

/** The idempotency key of a client, with the upstream, method and path to which it belongs. */
export interface ClientKey {
  readonly upstream: string;
  readonly method: string;
  readonly path: string;
  readonly key: string;
}

/** Returns the idempotency key that the service gets: it differs for each upstream, method and path. */
export function serviceKey({ upstream, method, path, key }: ClientKey): string {
  return sha256Text([upstream, method, path, key]);
}

/**
 * Returns the key under which the same request is asked again, after an execution that ended unauthorised or may be
 * repeated.
 */
export function nextServiceKey(key: string, executionId: string): string {
  return sha256Text([key, executionId]);
}

function sha256Text(parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}

/** All values of a header. `name` is in lower case. */
export function headerValues(rawHeaders: readonly string[], name: string): string[] {
  return rawHeaders.filter((_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === name);
}

function singleValue(rawHeaders: readonly string[], name: string): string | null {
  const [value = null, ...others] = headerValues(rawHeaders, name);
  if (others.length > 0) throw invalidHeader(name, 'must be given only once');
  if (value === '') throw invalidHeader(name, 'must not be empty');
  return value;
}

function decodedValue(rawHeaders: readonly string[], name: string): string | null {
  const value = singleValue(rawHeaders, name.toLowerCase());
  if (value === null) return null;
  try {
    return decodeURIComponent(value);
  } catch {
    throw invalidHeader(name, 'must be percent-encoded UTF-8');
  }
}

function invalidHeader(name: string, message: string): Refusal {
  return new Refusal(400, 'header_ambiguous', `The header ${name} ${message}.`);
}
