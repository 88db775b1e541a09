import { withoutSlash } from '../evaluation/resources.mjs';
import { plainForm } from '../evaluation/spelling.mjs';
import { rejectionEnd } from './requests.mjs';
import { hashOfRequest } from './request-hash.mjs';

/**
 * The rejected requests of agents in the entries of a log so far: api-decisions.md, "Approval before execution" and "Grants".
 *
 * @typedef {import('./read-file.mjs').Json} Json
 */

/** The newest rejections that are compared with what a wide grant lets through. */
const MAX_COMPARED = 100;
const DAY = 86_400_000;

export class BindingRejections {
  /** The rejected decisions, by id. @type {Map<string, Json>} */
  #decisions = new Map();
  /** The rejected executions, in order. @type {Json[]} */
  #executions = [];
  /** Times, in milliseconds, of rejections whose requests or decisions have been erased. @type {number[]} */
  #erasedTimes = [];

  /** @param {ReadonlySet<unknown>} agentIds whose requests count */
  constructor(agentIds) {
    this.agentIds = agentIds;
  }

  /**
   * @param {Json} entry the next one of the log
   * @param {Json | null | undefined} state nothing if it was erased
   */
  add({ action, timestamp, subjectId, audit }, state) {
    if (action === 'decision.rejected' && state && this.agentIds.has(state['proposedBy']))
      this.#decisions.set(subjectId, state);
    if (action !== 'execution.rejected' || !this.agentIds.has(audit.agentId)) return;
    // The decision is erased with its execution: if either is missing, nobody knows how long the rejection bound.
    if (state && this.#decisions.has(state['decisionId']))
      this.#executions.push({ ...state, parameters: null, result: null });
    else this.#erasedTimes.push(Date.parse(timestamp));
  }

  /**
   * Finds the decision that rejected exactly this request, and still binds.
   * @param {Json} request the state of an execution
   * @param {string} timestamp
   * @returns {Json | undefined}
   */
  findExact({ actionHash }, timestamp) {
    return [...this.#decisions.values()].find(
      (decision) => decision['actionHash'] === actionHash && timestamp < rejectionEnd(decision),
    );
  }

  /**
   * Finds the decision that rejected the same action on the same resource in any spelling, and still binds. A grant that covers more
   * than one request cannot override it.
   * @param {Json} request the state of an execution
   * @param {string} timestamp
   * @returns {Json | undefined}
   */
  findAnySpelling(request, timestamp) {
    const place = plainForm(withoutSlash(request['resourceId']));
    const alike = this.#executions.filter((execution) => isAlike(execution, request)).slice(-MAX_COMPARED);
    const same = alike.filter(
      (execution) =>
        plainForm(withoutSlash(execution['resourceId'])) === place &&
        execution['actionHash'] === hashAs(request, execution),
    );
    return same
      .map(({ decisionId }) => this.#decisions.get(decisionId))
      .find((decision) => decision !== undefined && timestamp < rejectionEnd(decision));
  }

  /**
   * Counts the erased rejections that could bind: the log no longer shows what they rejected.
   * @param {string} timestamp
   */
  erasedAt(timestamp) {
    return this.#erasedTimes.filter((time) => Date.parse(timestamp) < time + DAY).length;
  }
}

/**
 * @param {Json} execution
 * @param {Json} request
 */
function isAlike(execution, request) {
  return (
    ['agentId', 'action', 'resourceType'].every((name) => execution[name] === request[name]) &&
    execution['onBehalfOf']?.subject === request['onBehalfOf']?.subject
  );
}

/**
 * Hashes a request with the resource's spelling and the principal of another request.
 * @param {Json} request
 * @param {Json} other
 */
function hashAs(request, { resourceId, onBehalfOf }) {
  return hashOfRequest({ ...request, resourceId, onBehalfOf });
}
