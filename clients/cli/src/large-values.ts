import { createHash } from 'node:crypto';
import { type Command, InvalidArgumentError } from 'commander';
import { isTooDeep } from './nesting.js';

/** Bytes of UTF-8 above which a text is not sent to the service. */
export const DIGEST_ABOVE = 64 * 1024;
const MIN_DIGEST_ABOVE = 256;
const MAX_DIGEST_ABOVE = 1024 * 1024;
/** Bytes of JSON that the parameters of a question may have: with its other members it stays below 900 KiB. */
const MAX_PARAMETERS_BYTES = (900 - 32) * 1024;
/** The member that holds the hash of a text. */
const SHA256 = '$sha256';
/** Maximum bytes of a digest as JSON: to replace a shorter text would save nothing. */
const DIGEST_BYTES = 120;

const LONE_SURROGATE = /\p{Surrogate}/u;

type Parameters = Readonly<Record<string, unknown>>;

export interface DigestOptions {
  /** Bytes above which a text becomes a digest. */
  readonly digestAbove: number;
}

export function withDigestOption(command: Command): Command {
  return command.option(
    '--digest-above <bytes>',
    'ask with the hash in place of a text of more bytes; reviewers do not see such a text',
    bytes,
    DIGEST_ABOVE,
  );
}

/**
 * The parameters of a question with `{ $sha256, bytes }` in place of each text above the bound, and of the largest
 * texts until the question is small enough for the service. Only equal parameters have equal digests. Parameters that
 * are nested too deep stay as they are: the client refuses them.
 */
export function digestLargeTexts<Sent extends Parameters>(parameters: Sent, digestAbove: number): Sent {
  if (isTooDeep(parameters)) return parameters;
  const shortened = replaceTexts(parameters, (text) => Buffer.byteLength(text) > digestAbove);
  const least = leastReplaced(shortened);
  return (least === null ? shortened : replaceTexts(shortened, (text) => jsonBytes(text) >= least)) as Sent;
}

/**
 * True if a value has a member that only a digest may have: it could pass for a text with that hash. A value that is
 * nested too deep is not searched: the client refuses it.
 */
export function hasDigest(value: unknown): boolean {
  return !isTooDeep(value) && containsDigest(value);
}

function containsDigest(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(([name, member]) => name === SHA256 || containsDigest(member));
}

/** The bytes of JSON from which on texts have to be replaced; null if the parameters are small enough. */
function leastReplaced(parameters: unknown): number | null {
  let excess = jsonBytes(parameters) - MAX_PARAMETERS_BYTES;
  if (excess <= 0) return null;
  const sizes = textsIn(parameters).map(jsonBytes);
  for (const size of sizes.sort((left, right) => right - left)) {
    excess -= size - DIGEST_BYTES;
    if (excess <= 0 || size <= DIGEST_BYTES) return Math.max(size, DIGEST_BYTES);
  }
  return DIGEST_BYTES;
}

function replaceTexts(value: unknown, isReplaced: (text: string) => boolean): unknown {
  // Texts with half of a surrogate pair have the bytes of others, and so their hashes: the service refuses them as they
  // are.
  if (typeof value === 'string') return isReplaced(value) && !LONE_SURROGATE.test(value) ? digestOf(value) : value;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item: unknown) => replaceTexts(item, isReplaced));
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, replaceTexts(member, isReplaced)]));
}

function digestOf(text: string): object {
  const content = Buffer.from(text);
  return { [SHA256]: createHash('sha256').update(content).digest('hex'), bytes: content.length };
}

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

function jsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

function bytes(text: string): number {
  const count = Number(text);
  if (/^\d{1,7}$/.test(text) && count >= MIN_DIGEST_ABOVE && count <= MAX_DIGEST_ABOVE) return count;
  throw new InvalidArgumentError(`Expected a number of bytes from ${MIN_DIGEST_ABOVE} to ${MAX_DIGEST_ABOVE}.`);
}
