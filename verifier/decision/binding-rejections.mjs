import { hashOf } from '../canonical-json.mjs';
import { withoutSlash } from '../evaluation/resources.mjs';
import { plainForm } from '../evaluation/spelling.mjs';
import { rejectionEnd } from './requests.mjs';

/**
 * The rejections of what agents asked for, as the entries of a log so far have them: api-decisions.md, "Approval before execution"
 * and "Grants".
 *
 * @typedef {import('./read-file.mjs').Json} Json
 */

/** The newest rejections that are compared with what a wide grant lets through. */
const MOST_COMPARED = 100;
const DAY = 86_400_000;

export class BindingRejections {
  /** The rejected decisions, by id. @type {Map<string, Json>} */
  #decisions = new Map();
  /** The rejected executions, in order. @type {Json[]} */
  #executions = [];
  /** When requests were rejected of which the log no longer shows what they were for. @type {number[]} */
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
    if (state) this.#executions.push({ ...state, parameters: null, result: null });
    else this.#erasedTimes.push(Date.parse(timestamp));
  }

  /**
   * The decision that rejected exactly this, and still binds.
   * @param {Json} asked the state of an execution
   * @param {string} timestamp
   * @returns {Json | undefined}
   */
  of({ actionHash }, timestamp) {
    return [...this.#decisions.values()].find(
      (decision) => decision['actionHash'] === actionHash && timestamp < rejectionEnd(decision),
    );
  }

  /**
   * The decision that rejected the same action on the same resource in any spelling, and still binds: a grant for more than was asked
   * for serves neither.
   * @param {Json} asked the state of an execution
   * @param {string} timestamp
   * @returns {Json | undefined}
   */
  ofAnySpelling(asked, timestamp) {
    const place = plainForm(withoutSlash(asked['resourceId']));
    const alike = this.#executions.filter((execution) => isAlike(execution, asked)).slice(-MOST_COMPARED);
    const same = alike.filter(
      (execution) =>
        plainForm(withoutSlash(execution['resourceId'])) === place &&
        execution['actionHash'] === hashAs(asked, execution),
    );
    return same
      .map(({ decisionId }) => this.#decisions.get(decisionId))
      .find((decision) => decision !== undefined && timestamp < rejectionEnd(decision));
  }

  /**
   * How many rejections could bind of which the log no longer shows what they were for.
   * @param {string} timestamp
   */
  erasedAt(timestamp) {
    return this.#erasedTimes.filter((time) => Date.parse(timestamp) < time + DAY).length;
  }
}

/**
 * @param {Json} execution
 * @param {Json} asked
 */
function isAlike(execution, asked) {
  return (
    ['agentId', 'action', 'resourceType'].every((name) => execution[name] === asked[name]) &&
    execution['onBehalfOf']?.subject === asked['onBehalfOf']?.subject
  );
}

/**
 * The hash that a request would have in the spelling, and with the roles of the principal, of another one.
 * @param {Json} asked
 * @param {Json} other
 */
function hashAs({ agentId, action, resourceType, parameters }, { resourceId, onBehalfOf }) {
  const principal = onBehalfOf === undefined ? {} : { onBehalfOf };
  return hashOf({ agentId, action, resourceType, resourceId, parameters, ...principal });
}
