import { hashOf } from './canonical-json.mjs';
import { ACTOR, AUDIT, DETAILS, formOf, SEALED, SHARED, UNSEALED, VERSIONS } from './hashed-forms.mjs';
import { keyFaults } from './key-kinds.mjs';
import { subjectFaults } from './record-actions.mjs';
import { timeFaults } from './times.mjs';

/** 16 bytes in base64url. */
const SALT = /^[A-Za-z0-9_-]{21}[AQgw]$/;

/** @typedef {Readonly<Record<string, unknown>>} JsonObject */

/**
 * Finds the faults of a single entry: its members, its hashes, and what its action is about. Other files check its
 * position in the chain, and the entry that erased it.
 * @param {unknown} entry as `GET /provenance/:sequence` returns it
 * @returns {string[]}
 */
export function entryFaults(entry) {
  if (!isObject(entry)) return ['is not an object'];
  if (!VERSIONS.includes(Number(entry['v'])) || typeof entry['v'] !== 'number')
    return [`v is ${JSON.stringify(entry['v'])}: this verifier knows versions ${VERSIONS.join(' and ')}`];
  const { audit, state, salts, hash } = entry;
  const isSalted = entry['v'] !== 1;
  // A service of version 1 did not have the members that version 2 added.
  const added = UNSEALED.filter((name) => isSalted || Object.hasOwn(entry, name));
  return [
    ...memberFaults('the entry', entry, [...SEALED, 'hash', 'audit', 'state', ...added, ...erasedMember(entry)]),
    ...(isSalted ? saltFaults(salts, entry) : added.filter((name) => entry[name] !== null).map(isNotOfVersion1)),
    ...auditFaults(audit, entry),
    ...stateFaults(state, entry),
    ...subjectFaults(entry),
    ...(isObject(state) ? keyFaults(entry, state) : []),
    ...timeFaults(entry, isObject(state) ? state : null),
    ...(hash === hashOf(only(entry, SEALED)) ? [] : ['hash does not match the entry']),
  ];
}

/**
 * @param {JsonObject} entry
 * @param {readonly string[]} names
 */
function only(entry, names) {
  return Object.fromEntries(names.map((name) => [name, entry[name]]));
}

/**
 * @param {JsonObject} entry
 * @returns {boolean} true if the entry states that its contents were erased
 */
export function isErased(entry) {
  return Object.hasOwn(entry, 'erased');
}

/** @param {JsonObject} entry */
function erasedMember(entry) {
  return isErased(entry) ? ['erased'] : [];
}

/** @param {string} name */
function isNotOfVersion1(name) {
  return `${name} is given, but version 1 has none`;
}

/**
 * @param {unknown} salts
 * @param {JsonObject} entry
 */
function saltFaults(salts, entry) {
  if (!isObject(salts)) return ['salts is not an object'];
  const needed = [
    ...(isErased(entry) ? [] : ['details']),
    ...(isErased(entry) || entry['stateHash'] === null ? [] : ['state']),
  ];
  return [
    ...memberFaults('salts', salts, ['details', 'state']),
    ...['details', 'state']
      .filter((name) => (needed.includes(name) ? !SALT.test(String(salts[name])) : salts[name] !== null))
      .map((name) => `salts.${name} is not ${needed.includes(name) ? '16 bytes in base64url' : 'null'}`),
  ];
}

/**
 * @param {unknown} audit
 * @param {JsonObject} entry
 */
function auditFaults(audit, entry) {
  if (!isObject(audit)) return ['audit is not an object'];
  const differing = SHARED.filter((name) => audit[name] !== entry[name]);
  if (audit['id'] !== entry['auditId']) differing.push('id');
  return [
    ...memberFaults('audit', audit, AUDIT),
    ...(isObject(audit['actor'])
      ? memberFaults('audit.actor', audit['actor'], ACTOR)
      : ['audit.actor is not an object']),
    ...differing.map((name) => `audit.${name} does not match the entry`),
    ...(isErased(entry) ? keptFaults(audit) : []),
    ...auditHashFaults(audit, entry),
  ];
}

/** @param {JsonObject} audit of an erased entry */
function keptFaults(audit) {
  return DETAILS.filter((name) => audit[name] !== null).map((name) => `audit.${name} is there, but was erased`);
}

/**
 * @param {JsonObject} audit
 * @param {JsonObject} entry
 */
function auditHashFaults(audit, entry) {
  if (entry['v'] === 1) {
    // Without salts nothing replaces the erased contents, so only `hash` can be checked.
    return isErased(entry) || entry['auditHash'] === hashOf(audit) ? [] : ['auditHash does not match audit'];
  }
  const { details, ip, reason, requestId, ...identification } = audit;
  const salt = isObject(entry['salts']) ? entry['salts']['details'] : null;
  const { detailsHash } = entry;
  return [
    ...(isErased(entry) || detailsHash === hashOf({ details, ip, reason, requestId, salt })
      ? []
      : ['detailsHash does not match the details']),
    ...(entry['auditHash'] === hashOf({ ...identification, detailsHash }) ? [] : ['auditHash does not match audit']),
  ];
}

/**
 * @param {unknown} state
 * @param {JsonObject} entry
 */
function stateFaults(state, entry) {
  if (isErased(entry)) return state === null ? [] : ['state is there, but was erased'];
  if (state === null) return entry['stateHash'] === null ? [] : ['state is null where stateHash is not'];
  if (!isObject(state)) return ['state is not an object'];
  // Members that were added to a kind later are also hashed if they are set.
  const missing = formOf(entry['subjectType'])?.members.filter((name) => !Object.hasOwn(state, name)) ?? [];
  const salt = isObject(entry['salts']) ? entry['salts']['state'] : null;
  return [
    ...missing.map((name) => `state has no ${name}`),
    ...(state['id'] === entry['subjectId'] ? [] : ['state.id is not the subject']),
    ...(entry['stateHash'] === stateHashOf(state, entry['v'], salt) ? [] : ['stateHash does not match state']),
  ];
}

/**
 * @param {JsonObject} state
 * @param {unknown} version of the entry
 * @param {unknown} salt null in version 1
 */
export function stateHashOf(state, version, salt) {
  return hashOf(version === 1 ? state : { salt, state });
}

/**
 * @param {string} label
 * @param {JsonObject} object
 * @param {readonly string[]} names
 */
export function memberFaults(label, object, names) {
  return [
    ...names.filter((name) => !Object.hasOwn(object, name)).map((name) => `${label} has no ${name}`),
    ...Object.keys(object)
      .filter((name) => !names.includes(name))
      .map((name) => `${label} has an unknown member ${JSON.stringify(name)}`),
  ];
}

/**
 * @param {unknown} value
 * @returns {value is JsonObject}
 */
export function isObject(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
