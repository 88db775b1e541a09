import { withoutSlash } from '../evaluation/resources.mjs';
import { plainForm } from '../evaluation/spelling.mjs';
import { RecentItems } from './recent-items.mjs';
import { rejectionEnd } from './requests.mjs';
import { hashOfRequest } from './request-hash.mjs';

/**
 * The rejected requests of agents in the entries of a log so far: api-decisions.md, "Approval before execution" and
 * "Grants". What was requested, and until when it could be decided, is read from the entries that proposed it.
 *
 * @typedef {import('./read-file.mjs').Json} Json
 * @typedef {{ decisionId: string, hash: string, expiresAt: string, request: Json, isRejected: boolean }} Proposal
 * @typedef {{ proposal: Proposal, end: string, time: number }} Rejection
 * @typedef {object} Alike rejections of requests that are alike in any spelling
 * @property {Map<string, Rejection>} byHash the one that binds longest, by the hash of the request
 * @property {Rejection[]} newest as many as are compared, in order
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
  /** Maps what requests have in common in any spelling to their rejections. @type {Map<string, Alike>} */
  #rejections = new Map();
  /** The rejections that may still bind. @type {RecentItems<Rejection>} */
  #recent = new RecentItems();
  /** The same rejections, by the decision that made each. @type {Map<string, Rejection>} */
  #byDecision = new Map();
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
    if (action === 'execution.erased') this.#erase(state?.['decisionId']);
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
    this.#proposals.set(decisionId, {
      decisionId,
      hash: hashOfRequest(execution),
      expiresAt,
      request,
      isRejected: false,
    });
  }

  /**
   * @param {string} decisionId
   * @param {string} timestamp
   * @returns {boolean} true if the log shows what was rejected
   */
  #reject(decisionId, timestamp) {
    const proposal = this.#proposals.get(decisionId);
    if (proposal === undefined) return false;
    if (proposal.isRejected) return true;
    proposal.isRejected = true;
    const [end, time] = [rejectionEnd({ expiresAt: proposal.expiresAt, resolvedAt: timestamp }), Date.parse(timestamp)];
    this.#forgetBefore(time - DAY);
    const rejection = { proposal, end, time };
    const key = likenessOf(proposal.request);
    const { byHash, newest } = this.#rejections.get(key) ?? { byHash: new Map(), newest: [] };
    const other = byHash.get(proposal.hash);
    if (other === undefined || other.end < end) byHash.set(proposal.hash, rejection);
    this.#rejections.set(key, { byHash, newest: [...newest, rejection].slice(-MAX_COMPARED) });
    this.#recent.add(rejection, time);
    this.#byDecision.set(decisionId, rejection);
    return true;
  }

  /**
   * The service does not find an erased rejection any more, whatever of its contents a log or a file still has. Another
   * one of the same request binds on.
   * @param {string} decisionId
   */
  #erase(decisionId) {
    const rejection = this.#byDecision.get(decisionId);
    if (rejection === undefined) return;
    this.#byDecision.delete(decisionId);
    const { hash, request } = rejection.proposal;
    const key = likenessOf(request);
    const { byHash = new Map(), newest = [] } = this.#rejections.get(key) ?? {};
    const others = newest.filter((one) => one !== rejection);
    const [first, ...further] = others.filter(({ proposal }) => proposal.hash === hash);
    const longest = further.reduce((best, one) => (best !== undefined && best.end >= one.end ? best : one), first);
    if (byHash.get(hash) === rejection && longest === undefined) byHash.delete(hash);
    else if (byHash.get(hash) === rejection) byHash.set(hash, longest);
    if (others.length === 0) this.#rejections.delete(key);
    else this.#rejections.set(key, { byHash, newest: others });
  }

  /**
   * Forgets the rejections from before a time: none binds for longer than a day.
   * @param {number} time in milliseconds
   */
  #forgetBefore(time) {
    for (const rejection of this.#recent.takeBefore(time)) {
      const { decisionId, hash, request } = rejection.proposal;
      this.#byDecision.delete(decisionId);
      const key = likenessOf(request);
      const alike = this.#rejections.get(key);
      if (alike?.byHash.get(hash) === rejection) alike.byHash.delete(hash);
      if (alike?.newest.at(-1) === rejection) this.#rejections.delete(key);
    }
  }

  /**
   * Finds the decision that rejected exactly this request, and still binds.
   * @param {Json} request the state of an execution
   * @param {string} timestamp
   * @returns {string | undefined} its id
   */
  findExact(request, timestamp) {
    const rejection = this.#rejections.get(likenessOf(request))?.byHash.get(hashOfRequest(request));
    return rejection !== undefined && timestamp < rejection.end ? rejection.proposal.decisionId : undefined;
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
      ?.newest.find(
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
