import { withoutSlash } from '../evaluation/resources.mjs';
import { plainForm } from '../evaluation/spelling.mjs';
import { rejectionEnd } from './requests.mjs';
import { hashOfRequest } from './request-hash.mjs';

/**
 * The rejected requests of agents in the entries of a log so far: api-decisions.md, "Approval before execution" and
 * "Grants". What was requested, and until when it could be decided, is read from the entries that proposed it.
 *
 * @typedef {import('./read-file.mjs').Json} Json
 * @typedef {{ decisionId: string, hash: string, expiresAt: string, request: Json }} Proposal
 * @typedef {{ proposal: Proposal, end: string, time: string }} Rejection
 */

/** Number of rejections, the newest first, that are compared with a request under a wide grant. */
const MAX_COMPARED = 100;
const DAY = 86_400_000;
/** Actions after which a request cannot be rejected. */
const SETTLED_OTHERWISE = ['execution.approved', 'execution.cancelled', 'execution.expired'];

export class BindingRejections {
  /** Maps proposed decisions to their ends, until their executions are known. @type {Map<string, string>} */
  #ends = new Map();
  /** The requests that wait for a decision, by its id. @type {Map<string, Proposal>} */
  #proposals = new Map();
  /** Maps what requests have in common in any spelling to their rejections, in order. @type {Map<string, Rejection[]>} */
  #rejections = new Map();
  /** Times, in milliseconds, of rejections whose requests or decisions have been erased. @type {number[]} */
  #erasedTimes = [];

  /** @param {{ has(agentId: unknown): boolean }} agentIds whose requests count */
  constructor(agentIds) {
    this.agentIds = agentIds;
  }

  /**
   * @param {Json} entry the next one of the log
   * @param {Json | null | undefined} state nothing if it was erased
   */
  add({ action, timestamp, subjectId, audit }, state) {
    if (action === 'decision.proposed' && state?.['executionId'] !== undefined)
      this.#ends.set(subjectId, state['expiresAt']);
    if (action === 'execution.approval_requested' && state) this.#propose(state);
    if (action === 'decision.rejected') this.#reject(subjectId, timestamp);
    if (SETTLED_OTHERWISE.includes(action)) this.#proposals.delete(state?.['decisionId']);
    if (action !== 'execution.rejected' || !this.agentIds.has(state?.['agentId'] ?? audit.agentId)) return;
    // The decision is erased with its execution: if either is missing, nobody knows how long the rejection bound.
    const isKnown = this.#reject(state?.['decisionId'], timestamp);
    if (!isKnown) this.#erasedTimes.push(Date.parse(timestamp));
    this.#proposals.delete(state?.['decisionId']);
  }

  /** @param {Json} execution that waits for a decision, which the same commit proposed */
  #propose(execution) {
    const { decisionId } = execution;
    const expiresAt = this.#ends.get(decisionId);
    this.#ends.delete(decisionId);
    if (expiresAt === undefined || !this.agentIds.has(execution['agentId'])) return;
    const request = { ...execution, parameters: null, result: null };
    this.#proposals.set(decisionId, { decisionId, hash: hashOfRequest(execution), expiresAt, request });
  }

  /**
   * @param {string} decisionId
   * @param {string} timestamp
   * @returns {boolean} true if the log shows what was rejected
   */
  #reject(decisionId, timestamp) {
    const proposal = this.#proposals.get(decisionId);
    if (proposal === undefined) return false;
    const end = rejectionEnd({ expiresAt: proposal.expiresAt, resolvedAt: timestamp });
    const key = likenessOf(proposal.request);
    // None binds for longer than a day.
    const others = (this.#rejections.get(key) ?? []).filter(
      (other) => Date.parse(other.time) + DAY > Date.parse(timestamp),
    );
    if (others.every(({ proposal: { decisionId: otherId } }) => otherId !== decisionId))
      this.#rejections.set(key, [...others, { proposal, end, time: timestamp }]);
    return true;
  }

  /**
   * Finds the decision that rejected exactly this request, and still binds.
   * @param {Json} request the state of an execution
   * @param {string} timestamp
   * @returns {string | undefined} its id
   */
  findExact(request, timestamp) {
    const hash = hashOfRequest(request);
    const rejection = this.#rejections
      .get(likenessOf(request))
      ?.find(({ proposal, end }) => timestamp < end && proposal.hash === hash);
    return rejection?.proposal.decisionId;
  }

  /**
   * Finds the decision that rejected the same action on the same resource in any spelling, and still binds. A grant
   * that covers more than one request cannot override it.
   * @param {Json} request the state of an execution
   * @param {string} timestamp
   * @returns {string | undefined} its id
   */
  findAnySpelling(request, timestamp) {
    const place = plainForm(withoutSlash(request['resourceId']));
    const rejection = this.#rejections
      .get(likenessOf(request))
      ?.slice(-MAX_COMPARED)
      .find(
        ({ proposal, end }) =>
          timestamp < end &&
          plainForm(withoutSlash(proposal.request['resourceId'])) === place &&
          proposal.hash === hashAs(request, proposal.request),
      );
    return rejection?.proposal.decisionId;
  }

  /**
   * Counts the erased rejections that could bind: the log no longer shows what they rejected.
   * @param {string} timestamp
   */
  erasedAt(timestamp) {
    this.#erasedTimes = this.#erasedTimes.filter((time) => Date.parse(timestamp) < time + DAY);
    return this.#erasedTimes.length;
  }
}

/**
 * Returns what equal requests have in common, however their resources are spelled.
 * @param {Json} request
 */
function likenessOf({ agentId, action, resourceType, onBehalfOf }) {
  return JSON.stringify([agentId, action, resourceType, onBehalfOf?.subject ?? null]);
}

/**
 * Hashes a request with the resource's spelling and the principal of another request.
 * @param {Json} request
 * @param {Json} other
 */
function hashAs(request, { resourceId, onBehalfOf }) {
  return hashOfRequest({ ...request, resourceId, onBehalfOf });
}
