import { isErased, isObject } from './entry-check.mjs';
import { isErasureEntry } from './erasures.mjs';

/** @typedef {import('./entry-check.mjs').JsonObject} JsonObject */

/**
 * Finds records that still have contents although the record that they belong to was erased. The service erases an
 * execution, the decision on it and the grant of the decision in one commit.
 */
export class ErasedPairs {
  /**
   * Decisions, and executions that waited for one, that lost contents and whose `….erased` is not read yet.
   * @type {Set<string>}
   */
  #emptiedRecords = new Set();
  /** Maps records that have contents to the emptied record that they belong to. @type {Map<string, string>} */
  #owners = new Map();

  /** @param {JsonObject} entry the next one of the chain */
  add(entry) {
    const { action, subjectType, subjectId, state } = entry;
    const name = nameOf(subjectType, subjectId);
    if (isErasureEntry(entry)) {
      this.#emptiedRecords.delete(name);
      this.#owners.delete(name);
    } else if (isErased(entry)) {
      if (subjectType === 'decision' || action === 'execution.approval_requested') this.#emptiedRecords.add(name);
    } else if (isObject(state)) {
      const owner = ownerOf(String(subjectType), state);
      if (owner !== undefined && this.#emptiedRecords.has(owner)) this.#owners.set(name, owner);
    }
  }

  /**
   * Returns the faults that show once all entries are read. An owner whose erasure entry is not read yet causes
   * no fault, because the erasure entries of the records that belong to it are not read yet either.
   * @returns {string[]}
   */
  end() {
    return [...this.#owners]
      .filter(([, owner]) => !this.#emptiedRecords.has(owner))
      .map(([name, owner]) => `the ${name} has its contents, and the ${owner} that it belongs to was erased`);
  }
}

/**
 * Returns the record that is erased together with another. The decision that refused an execution may be about another
 * execution.
 * @param {string} subjectType
 * @param {JsonObject} state
 * @returns {string | undefined}
 */
function ownerOf(subjectType, { decisionId, executionId, outcome }) {
  if (subjectType === 'decision' && typeof executionId === 'string') return nameOf('execution', executionId);
  const isDecided = subjectType === 'grant' || (subjectType === 'execution' && outcome !== 'denied');
  return isDecided && typeof decisionId === 'string' ? nameOf('decision', decisionId) : undefined;
}

/**
 * @param {unknown} subjectType
 * @param {unknown} subjectId
 */
function nameOf(subjectType, subjectId) {
  return `${String(subjectType)} ${String(subjectId)}`;
}
