import { hashOf } from './canonical-json.mjs';
import { ACTOR, AUDIT, KINDS, SEALED, SHARED, VERSION } from './hashed-forms.mjs';

/** @typedef {Readonly<Record<string, unknown>>} JsonObject */

/**
 * The faults of an entry by itself: its members and its three hashes. Its place in the chain is checked elsewhere.
 * @param {unknown} entry as `GET /provenance/:sequence` returns it
 * @returns {string[]}
 */
export function entryFaults(entry) {
  if (!isObject(entry)) return ['is not an object'];
  const { audit, state, hash, ...sealed } = entry;
  const faults = [
    ...memberFaults('the entry', entry, [...SEALED, 'hash', 'audit', 'state']),
    ...auditFaults(audit, entry),
    ...stateFaults(state, entry),
  ];
  if (entry['v'] !== VERSION) faults.push(`v is ${JSON.stringify(entry['v'])}: this verifier knows version ${VERSION}`);
  if (hash !== hashOf(sealed)) faults.push('hash is not that of the entry');
  return faults;
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
    ...differing.map((name) => `audit.${name} is not that of the entry`),
    ...(entry['auditHash'] === hashOf(audit) ? [] : ['auditHash is not that of audit']),
  ];
}

/**
 * @param {unknown} state
 * @param {JsonObject} entry
 */
function stateFaults(state, entry) {
  if (state === null) return entry['stateHash'] === null ? [] : ['state is null where stateHash is not'];
  if (!isObject(state)) return ['state is not an object'];
  const kind = String(entry['subjectType']);
  // It may be named like a member of every object.
  const known = Object.hasOwn(KINDS, kind) ? KINDS[kind] : undefined;
  // Members that were added to a kind later are hashed, too, if they are set.
  const missing = known?.members.filter((name) => !Object.hasOwn(state, name)) ?? [];
  return [
    ...missing.map((name) => `state has no ${name}`),
    ...(state['id'] === entry['subjectId'] ? [] : ['state.id is not the subject']),
    ...(entry['stateHash'] === hashOf(state) ? [] : ['stateHash is not that of state']),
  ];
}

/**
 * @param {string} what
 * @param {JsonObject} object
 * @param {readonly string[]} names
 */
function memberFaults(what, object, names) {
  return [
    ...names.filter((name) => !Object.hasOwn(object, name)).map((name) => `${what} has no ${name}`),
    ...Object.keys(object)
      .filter((name) => !names.includes(name))
      .map((name) => `${what} has an unknown member ${JSON.stringify(name)}`),
  ];
}

/**
 * @param {unknown} value
 * @returns {value is JsonObject}
 */
export function isObject(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
