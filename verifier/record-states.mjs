import { canonicalJson, hashOf } from './canonical-json.mjs';
import { short } from './decision/report.mjs';
import { isErased, isObject } from './entry-check.mjs';
import { formOf } from './hashed-forms.mjs';
import { ACCESS_DENIED, changeableMembers, recordAction } from './record-actions.mjs';

/** @typedef {import('./entry-check.mjs').JsonObject} JsonObject */
/** @typedef {Map<string, string>} MemberTexts the members of a state, each by its text or the hash of a long one */

/** Kinds whose records are never erased: all of their states are compared. */
const LASTING = ['agent', 'api_key', 'delegation', 'erasure', 'passkey', 'policy', 'stop', 'webhook'];
/**
 * The states of records that are compared only while an action can still follow, as a log may have millions.
 * @type {Readonly<Record<string, (state: JsonObject) => boolean>>}
 */
const IS_OPEN = {
  decision: ({ status, change }) => status === 'proposed' || (status === 'approved' && change !== undefined),
  execution: ({ outcome }) => outcome === 'pending_approval' || outcome === 'approved',
  grant: ({ status }) => status === 'active',
};
/** The member that says how far a record has come. @type {Readonly<Record<string, string>>} */
const STAGE = { decision: 'status', execution: 'outcome', grant: 'status' };
const MAX_TEXT_LENGTH = 64;

/**
 * Compares the state of a record with the one before: an entry changes only what its action changes, and a status is
 * that which the action gives. How far a record came is known by its actions, also if its contents were erased.
 */
export class RecordStates {
  /** The last state of each record, by kind and id. @type {Map<string, MemberTexts>} */
  #states = new Map();
  /**
   * The records whose last entry has lost its contents, each with how far it may have come by then; nothing if that is
   * not known. A part of an export may have been made before that.
   * @type {Map<string, readonly string[]>}
   */
  #erased = new Map();

  /**
   * @param {JsonObject} entry the next one of the chain
   * @returns {string[]} its faults
   */
  add(entry) {
    const { subjectType, subjectId, action, state } = entry;
    const kind = String(subjectType);
    const key = `${kind} ${String(subjectId)}`;
    // The entry about a refused caller has no state; the caller keeps its last one.
    if (action === ACCESS_DENIED) return [];
    if (!LASTING.includes(kind) && !Object.hasOwn(IS_OPEN, kind)) return [];
    const before = this.#states.get(key);
    const stagesBefore = this.#erased.get(key) ?? stagesIn(before, kind);
    if (isErased(entry) || !isObject(state)) {
      this.#states.delete(key);
      const stages = stagesAfter(entry, kind);
      this.#erased.set(key, stages.length === 0 ? stagesBefore : stages);
      return beforeFaults(entry, stagesBefore);
    }
    const wasErased = this.#erased.delete(key);
    const { begins = false } = recordAction(entry);
    const isStrange = before === undefined && !begins && LASTING.includes(kind);
    const isOpen = IS_OPEN[kind]?.(state) === true;
    const isReopened = before === undefined && !begins && !wasErased && isOpen;
    if (LASTING.includes(kind) || isOpen) this.#states.set(key, textsOf(state));
    else this.#states.delete(key);
    return [
      ...(state['id'] === subjectId ? [] : [`the state has the id ${short(state['id'])}`]),
      ...valueFaults(entry, state),
      ...(begins ? creationFaults(entry, state) : []),
      ...(isStrange ? [`${String(action)} is the first entry of its ${kind}, which nothing has made`] : []),
      ...(isReopened ? [`${String(action)} leaves the ${kind} open, which had ended`] : []),
      ...beforeFaults(entry, stagesBefore),
      ...(wasErased ? keptFaults(entry, kind, stagesBefore) : []),
      ...(before === undefined || begins ? [] : changeFaults(entry, textsOf(state), before)),
    ];
  }
}

/**
 * Finds members that the action of an entry cannot lead to.
 * @param {JsonObject} entry
 * @param {JsonObject} state
 * @returns {string[]}
 */
export function valueFaults(entry, state) {
  const { action, subjectType } = entry;
  const { state: values = {} } = recordAction(entry);
  return Object.entries(values).flatMap(([name, allowed]) => {
    const value = state[name] ?? formOf(subjectType)?.later?.[name] ?? null;
    return allowed.includes(value)
      ? []
      : [`${String(action)} leaves the ${String(subjectType)} with the ${name} ${short(value)}`];
  });
}

/**
 * Finds a record that says another time than the entry that made it: who may review an emergency depends on it.
 * @param {JsonObject} entry
 * @param {JsonObject} state
 * @returns {string[]}
 */
function creationFaults({ action, timestamp, subjectType }, { createdAt }) {
  return createdAt === timestamp
    ? []
    : [
        `${String(action)} of ${String(timestamp)} leaves the ${String(subjectType)} with the createdAt ${short(createdAt)}`,
      ];
}

/**
 * @param {MemberTexts | undefined} state nothing if the record was not open
 * @param {string} kind
 */
function stagesIn(state, kind) {
  const stage = state?.get(STAGE[kind] ?? '');
  return stage === undefined ? [] : [stage];
}

/**
 * Returns how far a record may have come by an action, as texts; nothing if the action leaves it where it was.
 * @param {JsonObject} entry
 * @param {string} kind
 */
function stagesAfter(entry, kind) {
  const { state: values = {} } = recordAction(entry);
  return (values[STAGE[kind] ?? ''] ?? []).map((value) => canonicalJson(value));
}

/**
 * Finds a record that has come to another place than the erased entries before led to, by an action that leaves it
 * where it was.
 * @param {JsonObject} entry with its state
 * @param {string} kind
 * @param {readonly string[]} stages
 * @returns {string[]}
 */
function keptFaults(entry, kind, stages) {
  const name = STAGE[kind] ?? '';
  const stage = isObject(entry['state']) ? entry['state'][name] : undefined;
  const isLed = stages.length === 0 || stagesAfter(entry, kind).length > 0 || stages.includes(canonicalJson(stage));
  return isLed ? [] : [`the ${name} is ${short(stage)}, which the erased entries before did not lead to`];
}

/**
 * Finds an action on a record that was settled before, or has not come so far: otherwise a decision could be approved
 * after it was rejected.
 * @param {JsonObject} entry
 * @param {readonly string[]} stages how far the record may have come; nothing if it was not open
 * @returns {string[]}
 */
function beforeFaults(entry, stages) {
  const { before: values = {} } = recordAction(entry);
  return Object.entries(values)
    .filter(([, allowed]) => !allowed.some((value) => stages.includes(canonicalJson(value))))
    .map(
      ([name, allowed]) =>
        `${String(entry['action'])} though the ${name} of the ${String(entry['subjectType'])} was not ${allowed.join(' or ')} before`,
    );
}

/**
 * @param {JsonObject} entry
 * @param {MemberTexts} next
 * @param {MemberTexts} before
 * @returns {string[]}
 */
function changeFaults(entry, next, before) {
  const mayChange = changeableMembers(entry);
  const names = [...new Set([...before.keys(), ...next.keys()])];
  return names
    .filter((name) => !mayChange.includes(name) && before.get(name) !== next.get(name))
    .map(
      (name) =>
        `${String(entry['action'])} changes the ${name} of the ${String(entry['subjectType'])}, which it does not say`,
    );
}

/**
 * @param {JsonObject} state
 * @returns {MemberTexts}
 */
function textsOf(state) {
  return new Map(Object.entries(state).map(([name, value]) => [name, textOf(value)]));
}

/** @param {unknown} value */
function textOf(value) {
  const text = canonicalJson(value);
  return text.length > MAX_TEXT_LENGTH ? hashOf(value) : text;
}
