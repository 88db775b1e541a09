/**
 * Counts how often each grant of a log was used.
 *
 * @typedef {import('./read-file.mjs').Json} Json
 */
export class GrantUses {
  /** Maps grants that have not ended to what was used of each. @type {Map<string, { uses: number | null, used: number }>} */
  #grants = new Map();
  /** Executions that were erased, and may have used any of them. */
  #erased = 0;
  /** The executions whose erasures have not said yet which grant each used. @type {Set<string>} */
  #unknown = new Set();

  /**
   * @param {Json} entry the next one of the log
   * @param {Json | null} state nothing if it was erased
   * @returns {string[]} faults
   */
  faults({ action, subjectId }, state) {
    if (action === 'grant.created' && state) this.#grants.set(subjectId, { uses: state['uses'], used: 0 });
    if (action === 'grant.used_up') return this.#endFaults(subjectId);
    const isKnown = action === 'execution.erased' && this.#unknown.delete(subjectId);
    if (action !== 'execution.authorized' && !isKnown) return [];
    if (!state) {
      this.#erased += 1;
      this.#unknown.add(subjectId);
    }
    return this.#useFaults(state?.['grantId']);
  }

  /** @param {string} id */
  #endFaults(id) {
    const grant = this.#grants.get(id);
    if (grant === undefined || grant.used === grant.uses || this.#erased > 0) return [];
    return [`the grant ${id} was used ${grant.used} times, of ${grant.uses}`];
  }

  /** @param {string} id */
  #useFaults(id) {
    const grant = this.#grants.get(id);
    if (grant === undefined) return [];
    grant.used += 1;
    if (grant.uses === null || grant.used <= grant.uses) return [];
    return [`the grant ${id} was used ${grant.used - 1} times before, of ${grant.uses}`];
  }
}
