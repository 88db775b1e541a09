import { termFaults } from './grants.mjs';
import { AUTHORISING } from './history.mjs';
import { hashOfRequest } from './request-hash.mjs';
import { resourceFault } from './request-form.mjs';

/**
 * Checks what every execution of a log says of its request and of what authorised it, and which decision gave each
 * grant, whether or not a file recomputes it.
 *
 * @typedef {import('./read-file.mjs').Json} Json
 * @typedef {object} Settled a decision that was approved or rejected
 * @property {Json | null | undefined} decision nothing if it was erased
 * @property {Json | null | undefined} [execution] the one that was settled with it
 * @property {boolean} hasGiven whether it has given a grant
 */

export const BEGINNINGS = ['execution.authorized', 'execution.denied', 'execution.approval_requested'];
const ERASING = ['execution.erased', 'decision.erased', 'grant.erased'];
/** Actions after which the approval of an execution is good for nothing. */
const GIVING_UP = ['execution.cancelled', 'execution.expired'];
/** Actions of decisions that may give a grant in the same commit. */
const GIVING = ['decision.approved', 'decision.rejected'];
/** Actions of the executions that such a decision settles with it. */
const GIVEN = ['execution.approved', 'execution.rejected'];
/** Actions after which a grant serves nothing. */
const ENDING = ['grant.used_up', 'grant.expired', 'grant.revoked'];

export class ExecutionLog {
  /** Maps the ids of policies to their effect and name. @type {Map<string, { effect: string, name: string }>} */
  #policies = new Map();
  /** Maps grants to what they are for; null if it was erased. @type {Map<string, string | null>} */
  #grants = new Map();
  /**
   * Maps grants whose contents were erased to the kind of action for which each served.
   * @type {Map<string, string | undefined>}
   */
  #erasedGrants = new Map();
  /** Grants that have ended. @type {Set<string>} */
  #endedGrants = new Set();
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
  /** The decisions that were settled at the time of the last one. @type {Map<string, Settled>} */
  #settled = new Map();
  #settledAt = '';
  /** True if an execution that was settled then has been erased: nobody knows by which decision. */
  #hasErasedExecution = false;

  /**
   * @param {Json} entry the next one of the log
   * @param {Json | null | undefined} state nothing if it was erased
   * @returns {string[]} faults
   */
  faults(entry, state) {
    const { subjectType, subjectId, action } = entry;
    if (GIVING.includes(action)) this.#noteSettled(entry, state);
    if (GIVEN.includes(action)) this.#noteExecution(entry, state);
    if (GIVING_UP.includes(action)) this.#approvals.delete(subjectId);
    if (ENDING.includes(action)) this.#endedGrants.add(subjectId);
    if (AUTHORISING.includes(action) && !state) this.#erasedAuthorisations.set(subjectId, action);
    if (action === 'execution.resumed' && state) return this.#approvalFaults(subjectId, state);
    if (ERASING.includes(action) && state) return this.#erasureFaults(entry, state);
    const grantFaults = action === 'grant.created' && state ? this.#grantFaults(entry, state) : [];
    if (action === 'grant.created') this.#grants.set(subjectId, state ? purposeOf(state) : null);
    if (subjectType === 'policy' && state) {
      const { effect, name } = state;
      this.#policies.set(subjectId, { effect, name });
    }
    if (!state || !BEGINNINGS.includes(action)) return grantFaults;
    return [...this.#requestFaults(entry, state), ...this.#authorityFaults(entry, state)];
  }

  /**
   * @param {Json} entry that approved or rejected a decision
   * @param {Json | null | undefined} state nothing if it was erased
   */
  #noteSettled({ subjectId, action, timestamp }, state) {
    if (timestamp !== this.#settledAt) {
      this.#settled.clear();
      this.#hasErasedExecution = false;
    }
    this.#settledAt = timestamp;
    this.#settled.set(subjectId, { decision: state, hasGiven: false });
    if (action !== 'decision.approved') return;
    if (!state) this.#erasedApprovals.set(subjectId, undefined);
    else if (state['executionId'] !== undefined) this.#approvals.set(state['executionId'], subjectId);
  }

  /**
   * @param {Json} entry that approved or rejected an execution
   * @param {Json | null | undefined} state nothing if it was erased
   */
  #noteExecution({ timestamp }, state) {
    if (timestamp !== this.#settledAt) return;
    if (!state) this.#hasErasedExecution = true;
    const settled = this.#settled.get(state?.['decisionId']);
    if (settled !== undefined) settled.execution = state;
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
    const purpose = this.#grants.get(grantId);
    const isServed = purpose === null ? this.#isErasedGrant(grantId, state) : purpose?.startsWith(kindOf(state));
    return action === undefined ? [] : this.#obstacleFaults(subjectId, policies, isServed === true);
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
   * Finds a grant that its decision has not given: a decision gives one at most, as it is settled, for what its
   * execution does.
   * @param {Json} entry
   * @param {Json} grant
   * @returns {string[]}
   */
  #grantFaults(entry, grant) {
    const { subjectId, timestamp } = entry;
    const { decisionId } = grant;
    const settled = this.#settledAt === timestamp ? this.#settled.get(decisionId) : undefined;
    if (settled === undefined) return [`${subjectId} was made, and no decision gave it then`];
    if (settled.hasGiven) return [`the decision ${decisionId} had given a grant before`];
    settled.hasGiven = true;
    const { decision, execution } = settled;
    if (!decision) return [];
    if (!execution)
      return this.#hasErasedExecution ? [] : [`${subjectId} was made, and its decision settled no execution`];
    return termFaults({ entry: { ...entry, state: grant }, decision, execution }).map(
      (fault) => `of ${subjectId}, ${fault}`,
    );
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
    if (this.#endedGrants.has(state['grantId']))
      return [`${subjectId} was authorised by ${state['grantId']}, which had ended`];
    const purpose = this.#grants.get(state['grantId']);
    const principal = state['onBehalfOf']?.subject ?? null;
    const isServed =
      purpose === null
        ? this.#isErasedGrant(state['grantId'], state)
        : purpose === purposeOf({ ...state, onBehalfOf: principal });
    return this.#obstacleFaults(subjectId, policies, isServed);
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
 * Returns what a grant is for, or what an execution does, except its resource and its parameters.
 * @param {Json} record
 */
function purposeOf(record) {
  return `${kindOf(record)}${JSON.stringify(record['onBehalfOf'])}`;
}

/**
 * Returns what is left of that once the record was erased.
 * @param {Json} record
 */
function kindOf({ agentId, action, resourceType }) {
  return JSON.stringify([agentId, action, resourceType]);
}
