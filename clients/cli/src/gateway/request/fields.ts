import type { JsonObject, JsonValue } from '../file/gateway-config.js';
import { marksFault } from '../../service-rules/normal-form.js';
import { foldName } from './fold-name.js';
import { methodNameFault } from './method-name.js';
import { formDecode } from './percent-decode.js';

/** The fields of a query or a form, which programs can read in one way only. */
export interface Fields {
  /** Maps each decoded name to its value, or to the list of its values; null for a name without "=". */
  readonly values: JsonObject;
  /** The names, folded. */
  readonly names: readonly string[];
  /** True if a blank was sent as "+", which some programs do not decode in a query. */
  readonly hasPlus: boolean;
}

interface Field {
  readonly name: string;
  readonly decoded: string;
  readonly value: string | null;
}

interface FieldRules {
  /** Folded names of credentials. */
  readonly credentialNames: readonly string[];
  /** True for a body: forms have "=" in each part, and a text of another type has not. */
  readonly isForm: boolean;
}

const RESERVED = /^(?:\$sha256|\$secret|\$hmac|__proto__)$/;
const ENCODED_BRACKET = /%5D/gi;
const WRONG_ESCAPE = /%(?![0-9A-Fa-f]{2})/;
/** A name, and then the brackets of what it contains. Some programs skip a "?" at the beginning. */
const PLAIN_SHAPE = /^[^\s[\]?][^[\]]*(?:\[[^[\]]*\])*$/;
/** Names of text that is JSON or markup. They would be recorded as they are, with the secrets in them. */
const NO_NAME = /^<|["{}\p{Cc}]/u;
const MAX_NAME_LENGTH = 256;
/** Maximum number of fields: some frameworks drop further ones. */
export const MAX_FIELDS = 1_000;
/** Each bracket of a name is compared with all names. */
const MAX_BRACKETS = 32;

/**
 * Yields where others may be served. Returns what the fields have to be, as the end of a sentence, if programs could
 * read them differently.
 * @param text without "?"
 */
export function* parseFields(
  text: string,
  { credentialNames, isForm }: FieldRules,
): Generator<undefined, Fields | string, undefined> {
  if (text === '') return { values: {}, names: [], hasPlus: false };
  if (text.includes(';')) return 'must not have ";", which some programs read as "&": write %3B';
  if (WRONG_ESCAPE.test(text))
    return 'must have two hexadecimal digits after each "%": write %25 for the character itself';
  const parts = text.split('&', MAX_FIELDS + 1);
  if (parts.includes('')) return 'must not have an empty part, as in "a=1&&b=2"';
  if (parts.length > MAX_FIELDS) return `must have at most ${MAX_FIELDS} parts`;
  const fields: Field[] = [];
  for (const part of parts) {
    yield;
    const field = parseField(part);
    if (typeof field === 'string') return field;
    if (isForm && field.value === null) return 'must have "=" in each part: send other text with its own Content-Type';
    fields.push(field);
  }
  const names = yield* foldNames(fields, credentialNames);
  return typeof names === 'string' ? names : { values: valuesOf(fields), names, hasPlus: text.includes('+') };
}

function parseField(part: string): Field | string {
  const sign = part.indexOf('=');
  const name = sign < 0 ? part : part.slice(0, sign);
  const decoded = formDecode(name);
  const value = sign < 0 ? null : formDecode(part.slice(sign + 1));
  if (decoded === undefined || value === undefined) return 'must be percent-encoded UTF-8 without NUL';
  const bracketed = part.replaceAll(ENCODED_BRACKET, ']');
  const bracket = bracketed.indexOf(']=');
  if (bracket >= 0 && bracket + 1 !== bracketed.indexOf('='))
    return 'must not have "]=" in a value, which some programs take for the end of the name: write %3D for "="';
  return { name, decoded, value };
}

/** Returns the folded names, or what they have to be. */
function* foldNames(
  fields: readonly Field[],
  credentialNames: readonly string[],
): Generator<undefined, readonly string[] | string, undefined> {
  /** The spelling of each folded name. */
  const spellings = new Map<string, string>();
  /** The folded name of each name with dots in the place of brackets. */
  const dotted = new Map<string, string>();
  for (const { name, decoded } of fields) {
    yield;
    const fault = plainNameFault(decoded);
    if (fault !== undefined) return fault;
    const plain = foldName(decoded);
    const folded = joinedName(plain);
    const foldedFault = foldedNameFault(folded, decoded);
    if (foldedFault !== undefined) return foldedFault;
    const top = folded.split('[', 1)[0] ?? '';
    if (RESERVED.test(folded))
      return `must not have the name ${JSON.stringify(decoded)}, which the service gives a meaning`;
    if (credentialNames.some((credentialName) => joinedName(credentialName) === top))
      return `must not have the name ${JSON.stringify(decoded)}: there the gateway sends a credential`;
    const spelling = spellings.get(folded);
    if (spelling === name && top !== folded && !folded.endsWith('[]'))
      return `must have the name ${JSON.stringify(decoded)} once`;
    if (spelling !== undefined && spelling !== name)
      return `must not have two spellings of the name ${JSON.stringify(decoded)}`;
    spellings.set(folded, name);
    const inDots = dottedName(plain);
    const twin = dotted.get(inDots) ?? folded;
    if (twin !== folded) return `must not have both ${JSON.stringify(twin)} and ${JSON.stringify(folded)}`;
    dotted.set(inDots, folded);
  }
  return nestingFault(new Set(spellings.keys())) ?? [...spellings.keys()];
}

/** Returns the end of a sentence that says what the name has to be, if programs could read it differently. */
export function fieldNameFault(name: string): string | undefined {
  return plainNameFault(name) ?? foldedNameFault(joinedName(foldName(name)), name);
}

function plainNameFault(name: string): string | undefined {
  if (name.length > MAX_NAME_LENGTH || NO_NAME.test(name))
    return `must have names of at most ${MAX_NAME_LENGTH} characters without quotation marks, braces and control characters, and without "<" at their beginning`;
  if (!PLAIN_SHAPE.test(name))
    return `must not have the name ${JSON.stringify(name)}: it begins with a blank or "?", or has brackets that do not follow each other at its end`;
  return marksFault(name);
}

function foldedNameFault(folded: string, name: string): string | undefined {
  const [top = '', ...brackets] = folded.split('[');
  if (brackets.length > MAX_BRACKETS) return `must have at most ${MAX_BRACKETS} "[" in a name`;
  if (top.trim() === '') return 'must have a name in each part';
  return methodNameFault(top, name);
}

/** The first part of a folded name, in which names are compared that a program could take for the same one. */
export function topName(folded: string): string {
  return joinedName(folded).split('[', 1)[0] ?? '';
}

/** PHP reads a blank and a dot before the first bracket as "_". */
function joinedName(folded: string): string {
  const end = folded.indexOf('[');
  const top = end < 0 ? folded : folded.slice(0, end);
  return top.replaceAll(/[ .]/g, '_') + folded.slice(top.length);
}

/** ASP.NET Core reads `a[b]` and `a[b][]` as `a.b`. */
export function dottedName(folded: string): string {
  return folded.replaceAll('[]', '').replaceAll(/\[([^[\]]*)\]/g, '.$1');
}

/** Finds names of which one contains another, or that would be a list and an object at once. */
function nestingFault(names: ReadonlySet<string>): string | undefined {
  /** Maps the text before a bracket to true if the bracket is the empty one of a list. */
  const isListAt = new Map<string, boolean>();
  for (const name of names) {
    for (let start = name.indexOf('['); start >= 0; start = name.indexOf('[', start + 1)) {
      const parent = name.slice(0, start);
      if (names.has(parent)) return `must not have both ${JSON.stringify(parent)} and ${JSON.stringify(name)}`;
      const isList = name.startsWith('[]', start);
      if ((isListAt.get(parent) ?? isList) !== isList)
        return `must not have both ${JSON.stringify(`${parent}[]`)} and other names in its place`;
      isListAt.set(parent, isList);
    }
  }
  return undefined;
}

function valuesOf(fields: readonly Field[]): JsonObject {
  const values = new Map<string, JsonValue[]>();
  const lists = new Set<string>();
  for (const { decoded, value } of fields) {
    const existing = values.get(decoded);
    if (existing === undefined) values.set(decoded, [value]);
    else existing.push(value);
    if (existing !== undefined || decoded.endsWith('[]')) lists.add(decoded);
  }
  return Object.fromEntries(
    [...values].map(([name, list]): [string, JsonValue] => [name, lists.has(name) ? list : (list[0] ?? null)]),
  );
}
