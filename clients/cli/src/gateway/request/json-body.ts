import type { JsonValue } from '../file/gateway-config.js';
import { foldName } from './fold-name.js';
import { extentOf } from '../../service-rules/json-extent.js';
import { pathTo, scanJson } from '../../service-rules/json-scanner.js';
import { repeatedName } from '../../service-rules/repeated-name.js';

/** A JSON body that programs can read in one way only. */
export interface JsonBody {
  readonly value: JsonValue;
  /** Members and items at any depth. */
  readonly values: number;
}

/** The service allows 32 levels, of which parameters and the question around the body take two. */
const MAX_LEVELS = 30;
const RESERVED = /^(?:\$sha256|\$secret|\$hmac)$/;
/** A number that may lose digits, or be too small or too large for a double. */
const WORTH_COMPARING = /[\d.]{16}|\d[eE]/;
const TEXT_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const BYTE_ORDER_MARK = Buffer.from('\uFEFF');
const UTF_8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** @returns what the body has to be, as the end of a sentence, if programs could read it differently */
export function parseJsonBody(bytes: Buffer): JsonBody | string {
  if (bytes.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK))
    return 'must be JSON without a byte order mark';
  const text = decoded(bytes);
  const value = text === undefined ? undefined : parsed(text);
  if (text === undefined || value === undefined) return 'must be valid JSON in UTF-8, as its Content-Type says';
  const walk: Walk = { values: 0, fault: undefined };
  visit(value, [], walk);
  if (walk.fault !== undefined) return walk.fault;
  const { values, excess } = extentOf(bytes);
  const isRepeated = excess !== undefined || values > walk.values;
  const repeated = isRepeated ? repeatedName(text) : undefined;
  if (repeated !== undefined) return `must have each name once: ${pathTo(repeated)} is there twice`;
  const [fault] = scanJson(text);
  if (fault !== undefined) return `must be JSON that arrives unchanged: ${fault.field || 'it'} ${fault.message}`;
  const changed = changedNumber(text);
  if (changed !== undefined)
    return `must not have the number ${changed.slice(0, 40)}, which some programs would round: send a text`;
  return { value, values: walk.values };
}

function decoded(bytes: Buffer): string | undefined {
  try {
    return UTF_8.decode(bytes);
  } catch {
    return undefined;
  }
}

function parsed(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}

interface Walk {
  values: number;
  fault: string | undefined;
}

function visit(value: JsonValue, path: readonly (string | number)[], walk: Walk): void {
  if (walk.fault !== undefined || typeof value !== 'object' || value === null) return;
  if (path.length >= MAX_LEVELS) {
    walk.fault = `must be nested at most ${MAX_LEVELS} levels deep`;
  } else if (Array.isArray(value)) {
    walk.values += value.length;
    value.forEach((item: JsonValue, index) => visit(item, [...path, index], walk));
  } else visitMembers(Object.entries(value), path, walk);
}

function visitMembers(members: readonly [string, JsonValue][], path: readonly (string | number)[], walk: Walk): void {
  walk.values += members.length;
  const names = new Map<string, string>();
  for (const [name, member] of members) {
    const folded = foldName(name);
    walk.fault ??= memberFault(path, name, names.get(folded));
    names.set(folded, name);
    visit(member, [...path, name], walk);
  }
}

/** @param twin another name of the same object that is equal when folded */
function memberFault(path: readonly (string | number)[], name: string, twin: string | undefined): string | undefined {
  const place = (each: string): string => pathTo([...path, each]);
  if (twin !== undefined)
    return `must not have both ${place(twin)} and ${place(name)}, which some programs take for one name`;
  if (RESERVED.test(name)) return `must not have the member ${place(name)}, which the service gives a meaning`;
  if (path.length === 0 && foldName(name) === '_method')
    return 'must not have a member _method, which some programs take for the method';
  return undefined;
}

/** The first number that has other digits once it is read as a double; undefined if there is none. */
function changedNumber(text: string): string | undefined {
  if (!WORTH_COMPARING.test(text)) return undefined;
  for (const [token] of text.matchAll(TEXT_OR_NUMBER)) {
    if (!token.startsWith('"') && digitsOf(token) !== digitsOf(String(Number(token)))) return token;
  }
  return undefined;
}

/** The digits of a number that count, without its sign, its point and its exponent. */
function digitsOf(number: string): string {
  const [digits = ''] = number.replace(/[-.]/g, '').split(/[eE]/);
  return digits.replace(/^0+|0+$/g, '');
}
