import { hashOfRequest } from './request-hash.mjs';

/**
 * Finds requests for approval that went on although the same action was authorised without them: a grant, or a limit
 * with room, makes them unnecessary, so the service cancels them in the same commit. docs/api-decisions.md, "Grants",
 * and docs/policies.md, "Limits".
 *
 * @typedef {import('./read-file.mjs').Json} Json
 * @typedef {{ hash: string, isApproved: boolean }} OpenRequest
 */

/** The most requests of each outcome that are cancelled at once, the newest first. */
const MAX_CANCELLED = 100;
const ENDING = [
  ...['execution.resumed', 'execution.cancelled', 'execution.rejected', 'execution.expired', 'execution.erased'],
];

export class OpenRequests {
  /**
   * Maps the ids of executions that wait, or are approved, to their requests, the oldest first.
   * @type {Map<string, OpenRequest>}
   */
  #open = new Map();
  /**
   * Maps the hashes of requests to the ids of their open executions, the oldest first.
   * @type {Map<string, Set<string>>}
   */
  #byHash = new Map();
  /**
   * Maps the ids of executions that have to be cancelled in this commit to the execution that was authorised.
   * @type {Map<string, string>}
   */
  #due = new Map();
  /** The time of the commit that has to cancel them. */
  #dueTime = '';

  /**
   * @param {Json} entry the next one of the log
   * @param {Json | null | undefined} state nothing if it was erased
   * @returns {string[]} faults
   */
  faults(entry, state) {
    const { subjectType, subjectId, action } = entry;
    const faults = this.#faultsOfDue(entry);
    if (subjectType !== 'execution') return faults;
    const request = this.#open.get(subjectId);
    if (action === 'execution.approval_requested' && state) this.#begin(subjectId, hashOfRequest(state));
    else if (action === 'execution.approved' && request !== undefined) request.isApproved = true;
    else if (ENDING.includes(action)) this.#end(subjectId);
    if (state && isAuthorisedAlone(entry, state)) this.#cancelOthers(entry, hashOfRequest(state));
    return faults;
  }

  /**
   * @param {Json} entry
   * @returns {string[]}
   */
  #faultsOfDue({ subjectId, action, timestamp }) {
    if (this.#due.size === 0) return [];
    const isCancelled = action === 'execution.cancelled' && timestamp === this.#dueTime;
    if (isCancelled) this.#due.delete(subjectId);
    const late = timestamp > this.#dueTime ? [...this.#due] : [...this.#due].filter(([id]) => id === subjectId);
    for (const [id] of late) this.#due.delete(id);
    return late.map(([id, by]) => `${id} was not cancelled when ${by} authorised the same action without it`);
  }

  /**
   * @param {string} id
   * @param {string} hash
   */
  #begin(id, hash) {
    this.#open.set(id, { hash, isApproved: false });
    this.#byHash.set(hash, (this.#byHash.get(hash) ?? new Set()).add(id));
  }

  /** @param {string} id */
  #end(id) {
    const hash = this.#open.get(id)?.hash ?? '';
    const ids = this.#byHash.get(hash);
    this.#open.delete(id);
    ids?.delete(id);
    if (ids?.size === 0) this.#byHash.delete(hash);
  }

  /**
   * @param {Json} entry
   * @param {string} hash
   */
  #cancelOthers({ subjectId, timestamp }, hash) {
    const ids = [...(this.#byHash.get(hash) ?? [])].filter((id) => id !== subjectId).reverse();
    if (ids.length === 0) return;
    this.#dueTime = timestamp;
    for (const isApproved of [true, false]) {
      const open = ids.filter((id) => this.#open.get(id)?.isApproved === isApproved);
      for (const id of open.slice(0, MAX_CANCELLED)) this.#due.set(id, subjectId);
    }
  }
}

/**
 * True if an execution was authorised by a grant, or took from limits.
 * @param {Json} entry
 * @param {Json} state
 */
function isAuthorisedAlone({ action, audit }, { grantId }) {
  const { used = [] } = audit.details ?? {};
  if (action === 'execution.authorized') return grantId !== undefined || used.length > 0;
  return action === 'execution.resumed' && used.length > 0;
}
