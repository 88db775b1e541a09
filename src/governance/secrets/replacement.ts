import { MAX_FAULTS } from '../../core/errors/field-fault';
import type { JsonObject, JsonValue } from '../../core/json/json-value';
import { hasHash, HMAC, isHashReplacement, isSecretReplacement, SECRET } from '../../core/json/replacements';
import type { PathState, SecretPointers } from '../../core/values/secret-pointers';
import { stepTo } from '../../http/body/json-scanner';
import type { FaultInside } from '../../http/validation/shapes';
import { canonicalJson } from '../../ledger/chain/canonical-json';

const SHA256 = '$sha256';
const DIGEST_MEMBERS = 2;

/** Bytes of an HMAC that a replacement has. */
const SEAL_BYTES = 16;

const RESERVED = `must be left out: only the service writes ${SECRET} and ${HMAC}`;

/** Selects the secrets of a value. */
export interface SecretSearch {
  readonly pointers: SecretPointers;
  /** Name of the value in pointers; undefined for parameters, whose members begin the pointers. */
  readonly below?: 'result';
  /**
   * Recorded parameters whose replacements may be repeated: an equal replacement at the same pointer stays, and another
   * value in its place is a secret.
   */
  readonly recorded?: JsonObject;
}

/** Computes the HMAC of a value at a pointer, for one agent. */
export type SealValue = (pointer: string, value: JsonValue) => Buffer;

type Maybe = JsonValue | undefined;

/**
 * Faults of members that only the service may write.
 * @param recorded parameters on record, whose replacements may be repeated at the same pointer
 */
export function reservedFaults(value: JsonValue, recorded?: JsonObject): FaultInside[] {
  if (!hasReserved(value)) return [];
  const faults: FaultInside[] = [];
  const path: (string | number)[] = [];
  const visit = (item: JsonValue, recordedItem: Maybe): void => {
    if (typeof item !== 'object' || item === null || faults.length >= MAX_FAULTS) return;
    if (isRepeated(item, recordedItem)) return;
    const visitMember = (name: string | number, member: JsonValue, knownMember: Maybe): void => {
      if (typeof member !== 'object' || member === null) return;
      path.push(name);
      visit(member, knownMember);
      path.pop();
    };
    if (isList(item)) for (const [index, each] of item.entries()) visitMember(index, each, itemOf(recordedItem, index));
    else
      for (const name of Object.keys(item)) {
        if (name === SECRET || name === HMAC)
          faults.push({ at: [...path, name].reduce<string>(joinStep, ''), message: RESERVED });
        visitMember(name, item[name] ?? null, memberOf(recordedItem, name));
      }
  };
  visit(value, recorded);
  return faults.slice(0, MAX_FAULTS);
}

/** True if a value has a member that only the service may write. */
function hasReserved(value: JsonValue): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (isList(value)) {
    for (const item of value) if (hasReserved(item)) return true;
    return false;
  }
  for (const name of Object.keys(value))
    if (name === SECRET || name === HMAC || hasReserved(value[name] ?? null)) return true;
  return false;
}

/** True if anything in a value has to be replaced. */
export function hasSecrets(value: JsonValue, search: SecretSearch): boolean {
  const state = rootState(search, value);
  return state === null || hasSecretBelow(search.pointers, state, value, search.recorded);
}

/**
 * True if a secret lies below an item. The loops create no functions, because every request with parameters is
 * searched.
 */
function hasSecretBelow(pointers: SecretPointers, state: PathState, item: JsonValue, recorded: Maybe): boolean {
  if (typeof item !== 'object' || item === null || isRepeated(item, recorded)) return false;
  if (isList(item)) {
    for (let index = 0; index < item.length; index += 1)
      if (isSecretAt(pointers, state, String(index), item[index] ?? null, itemOf(recorded, index))) return true;
    return false;
  }
  const names = Object.keys(item);
  if (names.length === DIGEST_MEMBERS && isDigest(item)) return true;
  for (const name of names)
    if (isSecretAt(pointers, state, name, item[name] ?? null, memberOf(recorded, name))) return true;
  return false;
}

/** True if a member, or something below it, must be replaced. */
function isSecretAt(
  pointers: SecretPointers,
  state: PathState,
  name: string,
  member: JsonValue,
  recorded: Maybe,
): boolean {
  const below = stateAt(pointers, state, name, member, recorded);
  return below === null ? !isRepeated(member, recorded) : hasSecretBelow(pointers, below, member, recorded);
}

/** Copies a value and replaces its secrets; parts without secrets are shared. */
export function replaceSecrets(value: JsonValue, search: SecretSearch, seal: SealValue): JsonValue {
  const replace = (item: JsonValue, state: PathState | null, recorded: Maybe, pointer: string): JsonValue => {
    if (isRepeated(item, recorded)) return item;
    if (state === null) return { [SECRET]: shorten(seal(pointer, item)).toString('base64url') };
    if (typeof item !== 'object' || item === null) return item;
    const below = (name: string, member: JsonValue, recordedMember: Maybe): JsonValue => {
      const at = `${pointer}/${escapeName(name)}`;
      return replace(member, stateAt(search.pointers, state, name, member, recordedMember), recordedMember, at);
    };
    if (isList(item)) {
      const items = item.map((each, index) => below(String(index), each, itemOf(recorded, index)));
      return items.every((each, index) => each === item[index]) ? item : items;
    }
    const isHash = isDigest(item);
    const entries = Object.entries(item).map(([name, member]): [string, JsonValue] =>
      isHash && name === SHA256
        ? [HMAC, shorten(seal(`${pointer}/${SHA256}`, member)).toString('hex')]
        : [name, below(name, member, memberOf(recorded, name))],
    );
    return entries.every(([name, member]) => member === item[name]) ? item : Object.fromEntries(entries);
  };
  const { below, recorded } = search;
  return replace(value, rootState(search, value), recorded, below === undefined ? '' : `/${below}`);
}

/** True if a value on record has a replacement. */
export function hasReplacement(value: JsonValue): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (isList(value)) return value.some(hasReplacement);
  return isReplacement(value) || Object.values(value).some(hasReplacement);
}

function rootState({ pointers, below }: SecretSearch, value: JsonValue): PathState | null {
  return below === undefined ? pointers.start : stateAt(pointers, pointers.start, below, value, undefined);
}

/** Returns the state at a value; null if it is a secret. Values without content never are. */
function stateAt(
  pointers: SecretPointers,
  state: PathState,
  name: string,
  value: JsonValue,
  recorded: Maybe,
): PathState | null {
  if (value === null || value === true || value === false || value === '') return state;
  return recorded !== undefined && isSecretReplacement(recorded) ? null : pointers.after(state, name);
}

/** True for a replacement that stands at the same pointer of the parameters on record. */
function isRepeated(value: JsonValue, recorded: Maybe): boolean {
  if (recorded === undefined || !isReplacement(value) || !isReplacement(recorded)) return false;
  return canonicalJson(value) === canonicalJson(recorded);
}

function isReplacement(value: JsonValue): boolean {
  return isSecretReplacement(value) || isHashReplacement(value);
}

/** True for an object with a hash in place of a text. */
function isDigest(value: JsonObject): boolean {
  return hasHash(value, SHA256);
}

function shorten(hmac: Buffer): Buffer {
  return hmac.subarray(0, SEAL_BYTES);
}

function isList(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value);
}

function itemOf(value: Maybe, index: number): Maybe {
  return value !== undefined && isList(value) ? value[index] : undefined;
}

function memberOf(value: Maybe, name: string): Maybe {
  if (typeof value !== 'object' || value === null || isList(value)) return undefined;
  return Object.hasOwn(value, name) ? value[name] : undefined;
}

function escapeName(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}

function joinStep(path: string, step: string | number): string {
  return typeof step === 'number' ? `${path}[${step}]` : `${path}${stepTo(step)}`;
}
