import { hashOfRequest } from './request-hash.mjs';
import { resourceFault } from './request-form.mjs';

/**
 * Checks what every execution of a log says of its request and of what authorised it, whether or not a file recomputes it.
 *
 * @typedef {import('./read-file.mjs').Json} Json
 */

const BEGINNINGS = ['execution.authorized', 'execution.denied', 'execution.approval_requested'];

export class ExecutionLog {
  /** Maps the ids of policies to their effect and name. @type {Map<string, { effect: string, name: string }>} */
  #policies = new Map();
  /** Maps grants to what they are for; null if it was erased. @type {Map<string, string | null>} */
  #grants = new Map();

  /**
   * @param {Json} entry the next one of the log
   * @param {Json | null | undefined} state nothing if it was erased
   * @returns {string[]} faults
   */
  faults(entry, state) {
    const { subjectType, subjectId, action } = entry;
    if (action === 'grant.created') this.#grants.set(subjectId, state ? purposeOf(state) : null);
    if (subjectType === 'policy' && state) {
      const { effect, name } = state;
      this.#policies.set(subjectId, { effect, name });
    }
    if (!state || !BEGINNINGS.includes(action)) return [];
    return [...this.#requestFaults(entry, state), ...this.#authorityFaults(entry, state)];
  }

  /**
   * @param {Json} entry
   * @param {Json} state
   * @returns {string[]}
   */
  #requestFaults({ v, subjectId }, state) {
    // The first release, of the first form, took resources in more spellings.
    if (v === 1) return [];
    const fault = resourceFault(state);
    if (fault !== undefined) return [`of ${subjectId}, ${fault}`];
    return state['actionHash'] === hashOfRequest(state)
      ? []
      : [`the actionHash of ${subjectId} is not that of its request`];
  }

  /**
   * @param {Json} entry
   * @param {Json} state
   * @returns {string[]}
   */
  #authorityFaults({ subjectId, action, audit }, state) {
    if (action !== 'execution.authorized') return [];
    const { policies = [] } = audit.details ?? {};
    const purpose = this.#grants.get(state['grantId']);
    const principal = state['onBehalfOf']?.subject ?? null;
    const isServed = purpose === null || purpose === purposeOf({ ...state, onBehalfOf: principal });
    /** @type {{ effect: string, name: string }[]} */
    const policiesNamed = policies.flatMap((/** @type {Json} */ { id }) => this.#policies.get(id) ?? []);
    const obstacle = policiesNamed.find(
      ({ effect }) => effect === 'deny' || (effect === 'require_approval' && !isServed),
    );
    return obstacle === undefined ? [] : [`${subjectId} names ${obstacle.name}, which does not let it through`];
  }
}

/**
 * Returns what a grant is for, or what an execution does, except its resource and its parameters.
 * @param {Json} record
 */
function purposeOf({ agentId, action, resourceType, onBehalfOf }) {
  return JSON.stringify([agentId, action, resourceType, onBehalfOf]);
}
