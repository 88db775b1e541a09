import { hashOf } from '../canonical-json.mjs';
import { variableMembers } from '../record-actions.mjs';
import { ENDED } from './history.mjs';

/**
 * Finds records whose entries disagree about members that never change: otherwise an entry could say that another thing
 * was approved than what was requested.
 *
 * @typedef {import('./read-file.mjs').Json} Json
 */

/** The members that change, by kind. @type {ReadonlyMap<string, ReadonlySet<string>>} */
const VARIABLE = new Map(['execution', 'decision', 'grant'].map((kind) => [kind, variableMembers(kind)]));
/** Enough digits of a hash that no other content has them. */
const HASH_DIGITS = 32;

export class ConstantMembers {
  /** Maps records to the hash of their constant members. @type {Map<string, string>} */
  #hashes = new Map();

  /**
   * @param {Json} entry the next one of the log
   * @param {Json | null | undefined} state nothing if it was erased
   * @returns {string[]} faults
   */
  faults({ subjectType, subjectId, action }, state) {
    const variable = VARIABLE.get(subjectType);
    if (variable === undefined || !state || state['erased'] !== undefined) return [];
    const members = Object.fromEntries(Object.entries(state).filter(([name]) => !variable.has(name)));
    const hash = hashOf(members).slice(0, HASH_DIGITS);
    // An erasure takes some of them.
    const first = action === `${subjectType}.erased` ? undefined : this.#hashes.get(subjectId);
    if (isAtEnd(subjectType, state)) this.#hashes.delete(subjectId);
    else if (first === undefined) this.#hashes.set(subjectId, hash);
    return first === undefined || first === hash
      ? []
      : [`${subjectId} has other members than before, which never change`];
  }
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
