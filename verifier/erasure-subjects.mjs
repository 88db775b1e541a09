import { short } from './decision/report.mjs';
import { isObject } from './entry-check.mjs';
import { sha256 } from './primitives.mjs';

/** @typedef {import('./entry-check.mjs').JsonObject} JsonObject */
/**
 * @typedef {object} OpenErasure an erasure whose entries are not all read yet
 * @property {string} id
 * @property {ReadonlySet<string>} subjects
 * @property {Set<string>} missing subjects without an entry so far
 * @property {Set<string>} decisions that it may take: its subjects, and the decisions on its executions
 * @property {{ name: string, decision: string }[]} grants each with its decision
 */

const BEGUN = 'erasure.begun';
/** The entries of an erasure that follow its first, in the same commit. */
const OF_COMMIT = [
  ...['entity.deleted', 'entity.erased', 'execution.erased', 'decision.erased', 'grant.revoked', 'grant.erased'],
];
const ERASED = new Map([
  ['entity.erased', 'entity'],
  ['execution.erased', 'execution'],
  ['decision.erased', 'decision'],
  ['grant.erased', 'grant'],
]);
const ENTITY = 'entity.erased';

/**
 * Checks that an erasure takes its subjects, what is erased together with them, and nothing else; that the end of
 * `RETAIN_CONTENT` takes no entity; and that nothing is erased while an action can still follow.
 */
export class ErasureSubjects {
  /** Salted marks of the records that were erased, as a log may have millions. @type {Set<number>} */
  #erased = new Set();
  #salt = String(Math.random());
  /** The erasure whose commit is being read. @type {OpenErasure | undefined} */
  #open;

  /**
   * @param {JsonObject} entry the next one
   * @returns {string[]} its faults
   */
  add(entry) {
    const { action, subjectType, subjectId, state } = entry;
    const faults = OF_COMMIT.includes(String(action)) ? [] : this.end();
    if (action === BEGUN && isObject(state)) this.#open = erasureOf(String(subjectId), state['subjects']);
    if (ERASED.get(String(action)) !== subjectType) return faults;
    const name = `${String(subjectType)} ${String(subjectId)}`;
    this.#erased.add(this.#markOf(name));
    return [...faults, ...openFaults(entry), ...this.#subjectFaults(entry, name)];
  }

  /** The subjects of the last erasure that were not erased, as far as the entries go. */
  get missingSubjects() {
    return [...(this.#open?.missing ?? [])].filter((name) => !this.#erased.has(this.#markOf(name)));
  }

  /** @returns {string[]} faults that show after the last entry of an erasure */
  end() {
    const erasure = this.#open;
    const missing = this.missingSubjects;
    this.#open = undefined;
    if (erasure === undefined) return [];
    const strangers = erasure.grants.filter(({ decision }) => !erasure.decisions.has(decision));
    return [
      ...missing.map((name) => `the erasure ${erasure.id} was of the ${name}, which was not erased`),
      ...strangers.map(({ name }) => `the erasure ${erasure.id} was not of the ${name}, which was erased`),
    ];
  }

  /**
   * @param {JsonObject} entry
   * @param {string} name
   * @returns {string[]}
   */
  #subjectFaults({ action, audit, state }, name) {
    const erasureId = isObject(audit) && isObject(audit['details']) ? audit['details']['erasureId'] : undefined;
    if (erasureId === null) return action === ENTITY ? ['no entity is erased when RETAIN_CONTENT is over'] : [];
    const erasure = this.#open;
    if (erasure === undefined || erasure.id !== erasureId)
      return [`details.erasureId is ${short(erasureId)}, which is not the erasure of this commit`];
    erasure.missing.delete(name);
    return takeRecord(erasure, name, isObject(state) ? state : {})
      ? []
      : [`the erasure ${erasure.id} was not of the ${name}, which was erased`];
  }

  /** @param {string} name */
  #markOf(name) {
    return sha256(`${this.#salt} ${name}`)
      .subarray(0, 6)
      .reduce((mark, byte) => mark * 256 + byte, 0);
  }
}

/**
 * @param {string} id
 * @param {unknown} list
 * @returns {OpenErasure}
 */
function erasureOf(id, list) {
  const names = (Array.isArray(list) ? list : [])
    .filter(isObject)
    .map(({ type, id }) => `${String(type)} ${String(id)}`);
  return { id, subjects: new Set(names), missing: new Set(names), decisions: new Set(names), grants: [] };
}

/**
 * Adds a record to those that an erasure takes. A decision is erased with its execution, and a grant with its decision.
 * @param {OpenErasure} erasure
 * @param {string} name
 * @param {JsonObject} state
 * @returns {boolean} false if it is no subject, and belongs to none
 */
function takeRecord({ subjects, decisions, grants }, name, { decisionId, executionId, outcome }) {
  const decision = `decision ${String(decisionId)}`;
  if (name.startsWith('grant ')) {
    grants.push({ name, decision });
    return true;
  }
  // The decision that refused an execution may be about another one.
  const isDecided = name.startsWith('execution ') && typeof decisionId === 'string' && outcome !== 'denied';
  const isOfSubject = subjects.has(name) || (isDecided && subjects.has(decision));
  if (isOfSubject && isDecided) decisions.add(decision);
  const isOfExecution = name.startsWith('decision ') && subjects.has(`execution ${String(executionId)}`);
  if (isOfExecution) decisions.add(name);
  return isOfSubject || isOfExecution;
}

/**
 * @param {JsonObject} entry
 * @returns {string[]}
 */
function openFaults({ audit, state }) {
  if (!isObject(audit) || !isObject(state)) return [];
  const { outcome, status } = state;
  const isAtStart = isObject(audit['actor']) && audit['actor']['type'] === 'system';
  const isRetained = isObject(audit['details']) && audit['details']['erasureId'] === null;
  // The start erases again what a backup has brought back, before it ends what ran then.
  const isRunning = outcome === 'running' && !(isAtStart && !isRetained);
  const isOpen = outcome === 'pending_approval' || outcome === 'approved' || isRunning;
  return isOpen || status === 'proposed' ? [`it is erased while it is ${short(outcome ?? status)}`] : [];
}
