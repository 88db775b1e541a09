import { AUTHORISING } from './history.mjs';

/**
 * Checks what authorised the executions of a log, and which decision gave each grant, as far as erased contents leave it
 * open: what is whole is recomputed.
 *
 * @typedef {import('./read-file.mjs').Json} Json
 */

const ERASING = ['execution.erased', 'decision.erased', 'grant.erased'];
/** Actions after which the approval of an execution is good for nothing. */
const GIVING_UP = ['execution.cancelled', 'execution.expired'];
/** Actions of decisions that may give a grant in the same commit. */
const GIVING = ['decision.approved', 'decision.rejected'];

export class ErasedAuthority {
  /** Maps the ids of policies to their effect and name. @type {Map<string, { effect: string, name: string }>} */
  #policies = new Map();
  /** Maps grants to the kind of action that each is for; null if it was erased. @type {Map<string, string | null>} */
  #grants = new Map();
  /**
   * Maps grants whose contents were erased to the kind of action for which each served.
   * @type {Map<string, string | undefined>}
   */
  #erasedGrants = new Map();
  /** Maps approved executions that nobody has resumed to the decision on each. @type {Map<string, string>} */
  #approvals = new Map();
  /**
   * Approved decisions whose contents were erased, each with the execution that it was on; nothing until that execution
   * is resumed, or an erasure says it.
   * @type {Map<string, string | undefined>}
   */
  #erasedApprovals = new Map();
  /**
   * Executions whose contents were erased, each with the action that authorised it: only the erasure says by what.
   * @type {Map<string, string>}
   */
  #erasedAuthorisations = new Map();
  /**
   * Maps the decisions that were settled at the time of the last one to whether each has given a grant.
   * @type {Map<string, boolean>}
   */
  #givers = new Map();
  #settledAt = '';

  /**
   * @param {Json} entry the next one of the log
   * @param {Json | null | undefined} state nothing if it was erased
   * @returns {string[]} faults
   */
  faults(entry, state) {
    const { subjectType, subjectId, action } = entry;
    if (GIVING.includes(action)) this.#noteSettled(entry, state);
    if (GIVING_UP.includes(action)) this.#approvals.delete(subjectId);
    if (AUTHORISING.includes(action) && !state) this.#erasedAuthorisations.set(subjectId, action);
    if (action === 'execution.resumed' && state) return this.#approvalFaults(subjectId, state);
    if (action === 'execution.authorized' && state) return this.#useFaults(subjectId, state);
    if (ERASING.includes(action) && state) return this.#erasureFaults(entry, state);
    const grantFaults = action === 'grant.created' && state ? this.#grantFaults(entry, state) : [];
    if (action === 'grant.created') this.#grants.set(subjectId, state ? kindOf(state) : null);
    if (subjectType === 'policy' && state) {
      const { effect, name } = state;
      this.#policies.set(subjectId, { effect, name });
    }
    return grantFaults;
  }

  /**
   * @param {Json} entry that approved or rejected a decision
   * @param {Json | null | undefined} state nothing if it was erased
   */
  #noteSettled({ subjectId, action, timestamp }, state) {
    if (timestamp !== this.#settledAt) this.#givers.clear();
    this.#settledAt = timestamp;
    this.#givers.set(subjectId, false);
    if (action !== 'decision.approved') return;
    if (!state) this.#erasedApprovals.set(subjectId, undefined);
    else if (state['executionId'] !== undefined) this.#approvals.set(state['executionId'], subjectId);
  }

  /**
   * Finds an execution that was resumed though no decision on it was approved.
   * @param {string} id
   * @param {Json} execution
   * @returns {string[]}
   */
  #approvalFaults(id, { decisionId }) {
    const isApproved = this.#approvals.get(id) === decisionId || this.#isErasedApproval(decisionId, id);
    this.#approvals.delete(id);
    return isApproved ? [] : [`${id} was resumed, and no approved decision is on it`];
  }

  /**
   * Finds an execution by an erased grant that has served another kind of action.
   * @param {string} id
   * @param {Json} execution
   * @returns {string[]}
   */
  #useFaults(id, execution) {
    const { grantId } = execution;
    return this.#grants.get(grantId) !== null || this.#isErasedGrant(grantId, execution)
      ? []
      : [`${id} was authorised by ${grantId}, which had served another kind of action`];
  }

  /**
   * Finds what an erased execution, decision or grant still says against it.
   * @param {Json} entry that erased it
   * @param {Json} state what is left of it
   * @returns {string[]}
   */
  #erasureFaults({ subjectType, subjectId }, state) {
    if (subjectType === 'decision')
      return !this.#erasedApprovals.has(subjectId) || this.#isErasedApproval(subjectId, state['executionId'] ?? '')
        ? []
        : [`${subjectId} is on another execution than the one that was resumed by it`];
    if (subjectType === 'grant')
      return this.#grants.get(subjectId) !== null || this.#isErasedGrant(subjectId, state)
        ? []
        : [`${subjectId} was for another kind of action than the one for which it served`];
    const action = this.#erasedAuthorisations.get(subjectId);
    this.#erasedAuthorisations.delete(subjectId);
    if (action === 'execution.resumed') return this.#approvalFaults(subjectId, state);
    const { policies, grantId } = state;
    const kind = this.#grants.get(grantId);
    const isServed = kind === null ? this.#isErasedGrant(grantId, state) : kind === kindOf(state);
    return action === undefined ? [] : this.#obstacleFaults(subjectId, policies, isServed);
  }

  /**
   * True if a grant whose contents were erased is for the kind of action of a record, or may be.
   * @param {string} id
   * @param {Json} record
   */
  #isErasedGrant(id, record) {
    return isFirstOrEqual(this.#erasedGrants, id, kindOf(record));
  }

  /**
   * True if an approved decision whose contents were erased is on an execution, or may be.
   * @param {string} decisionId
   * @param {string} id of the execution
   */
  #isErasedApproval(decisionId, id) {
    return this.#erasedApprovals.has(decisionId) && isFirstOrEqual(this.#erasedApprovals, decisionId, id);
  }

  /**
   * Finds a grant that its decision has not given: a decision gives one at most, as it is settled.
   * @param {Json} entry
   * @param {Json} grant
   * @returns {string[]}
   */
  #grantFaults({ subjectId, timestamp }, { decisionId }) {
    const hasGiven = this.#settledAt === timestamp ? this.#givers.get(decisionId) : undefined;
    this.#givers.set(decisionId, true);
    if (hasGiven === undefined) return [`${subjectId} was made, and no decision gave it then`];
    return hasGiven ? [`the decision ${decisionId} had given a grant before`] : [];
  }

  /**
   * Finds a policy that did not let an execution through, although it is said to have authorised it.
   * @param {string} id of the execution
   * @param {readonly Json[]} policies those named
   * @param {boolean} isServed by a grant
   */
  #obstacleFaults(id, policies, isServed) {
    /** @type {{ effect: string, name: string }[]} */
    const policiesNamed = policies.flatMap((/** @type {Json} */ { id }) => this.#policies.get(id) ?? []);
    const obstacle = policiesNamed.find(
      ({ effect }) => effect === 'deny' || (effect === 'require_approval' && !isServed),
    );
    return obstacle === undefined ? [] : [`${id} names ${obstacle.name}, which does not let it through`];
  }
}

/**
 * True if a value is that which the map has for the key. The first one becomes it.
 * @param {Map<string, string | undefined>} values
 * @param {string} key
 * @param {string} value
 */
function isFirstOrEqual(values, key, value) {
  const first = values.get(key) ?? value;
  values.set(key, first);
  return first === value;
}

/**
 * Returns what is left of what a grant is for, or an execution did, once it was erased.
 * @param {Json} record
 */
function kindOf({ agentId, action, resourceType }) {
  return JSON.stringify([agentId, action, resourceType]);
}
