import { hashOf } from '../canonical-json.mjs';
import { RECORD_ACTIONS, variableMembers } from '../record-actions.mjs';
import { ENDED } from './history.mjs';

/**
 * Finds records whose entries disagree about members that never change: otherwise an entry could say that another thing
 * was approved than what was requested.
 *
 * @typedef {import('./read-file.mjs').Json} Json
 */

/** The members that change, by kind. @type {ReadonlyMap<string, ReadonlySet<string>>} */
const VARIABLE = new Map(['execution', 'decision', 'grant'].map((kind) => [kind, variableMembers(kind)]));
/** The members that change once an execution was authorised. @type {ReadonlySet<string>} */
const OF_RESULTS = new Set(
  ['execution.completed', 'execution.interrupted'].flatMap((action) => RECORD_ACTIONS[action]?.changes ?? []),
);
const AUTHORISED = ['authorized', 'running'];
/** Begins the mark of an execution that was authorised. */
const BY_RESULTS = '!';
/** Enough digits of a hash that no other content has them. */
const HASH_DIGITS = 32;

export class ConstantMembers {
  /** Maps records to marks of their constant members. @type {Map<string, string>} */
  #marks = new Map();

  /**
   * @param {Json} entry the next one of the log
   * @param {Json | null | undefined} state nothing if it was erased
   * @returns {string[]} faults
   */
  faults({ subjectType, subjectId, action, v }, state) {
    const variable = VARIABLE.get(subjectType);
    if (variable === undefined || !state || state['erased'] !== undefined) return [];
    const markOf = (/** @type {boolean} */ isByResults) =>
      markFor(state, isByResults ? OF_RESULTS : variable, isByResults);
    // An erasure takes some of them.
    const first = action === `${subjectType}.erased` ? undefined : this.#marks.get(subjectId);
    // The first form has other policies.
    const isAuthorised = subjectType === 'execution' && v !== 1 && AUTHORISED.includes(state['outcome']);
    if (isAtEnd(subjectType, state)) this.#marks.delete(subjectId);
    else if (first === undefined || isAuthorised) this.#marks.set(subjectId, markOf(isAuthorised));
    return first === undefined || first === markOf(first.startsWith(BY_RESULTS))
      ? []
      : [`${subjectId} has other members than before, which never change`];
  }
}

/**
 * @param {Json} state
 * @param {ReadonlySet<string>} variable
 * @param {boolean} isByResults
 */
function markFor(state, variable, isByResults) {
  const members = Object.fromEntries(Object.entries(state).filter(([name]) => !variable.has(name)));
  return `${isByResults ? BY_RESULTS : ''}${hashOf(members).slice(0, HASH_DIGITS)}`;
}

/**
 * True if nothing but an erasure follows.
 * @param {string} kind
 * @param {Json} state
 */
function isAtEnd(kind, { outcome, status, change }) {
  if (kind === 'execution') return ENDED.includes(outcome);
  return kind === 'grant' ? status !== 'active' : status !== 'proposed' && change === undefined;
}
