import { hashOfRequest } from './request-hash.mjs';
import { RecentItems } from './recent-items.mjs';
import { LATE_REASONS, REFUSED_FOR, UNKNOWN } from './repeating.mjs';

/**
 * @typedef {import('./read-file.mjs').Json} Json
 * @typedef {{ hash: string, time: string, ids: Set<string> }} Unknown executions of one request that ended at one time
 */

/** The most executions that a fault names. */
const MAX_NAMED = 3;

/** Actions of a gateway's request to which the service agrees only if it names the unknown outcome that it repeats. */
const AGREEING = ['execution.authorized', 'execution.approval_requested', 'execution.resumed'];

/** Finds requests of gateways that repeat an action whose outcome is unknown, and do not say so. */
export class UnknownOutcomes {
  /** Maps the hash of a request to its executions with an unknown outcome, in order. @type {Map<string, Unknown[]>} */
  #unknown = new Map();
  /** Maps the executions among them to those of the same time. @type {Map<string, Unknown>} */
  #byId = new Map();
  /** The same executions, until nobody has to name them. @type {RecentItems<string>} */
  #recent = new RecentItems();
  /** Executions that ended lately and whose contents were erased. @type {RecentItems<string>} */
  #erasedEnds = new RecentItems();
  /** Executions that were erased and may have had an unknown outcome when a gateway’s request came. */
  erased = 0;

  /** @param {{ has(agentId: string): boolean }} agentIds of the agents whose requests count */
  constructor(agentIds) {
    this.agentIds = agentIds;
  }

  /**
   * @param {Json} entry the next one of the log
   * @param {Json | null | undefined} state nothing if it was erased
   */
  add({ subjectType, subjectId, action, audit, timestamp }, state) {
    if (subjectType !== 'execution' || !this.agentIds.has(audit.agentId)) return;
    if (action === 'execution.erased') this.#forget(subjectId);
    if (action !== 'execution.completed') return;
    if (!state) this.#erasedEnds.add(subjectId, Date.parse(timestamp));
    else if (state['outcome'] === 'failed' && state['reason'] === UNKNOWN)
      this.#addUnknown(subjectId, hashOfRequest(state), timestamp);
  }

  /**
   * @param {string} id
   * @param {string} hash
   * @param {string} time
   */
  #addUnknown(id, hash, time) {
    for (const old of this.#recent.takeBefore(Date.parse(time) - REFUSED_FOR)) this.#forget(old);
    this.#recent.add(id, Date.parse(time));
    const all = this.#unknown.get(hash) ?? [];
    const last = all.at(-1);
    const unknown = last?.time === time ? last : { hash, time, ids: new Set() };
    if (unknown !== last) this.#unknown.set(hash, all);
    if (unknown !== last) all.push(unknown);
    this.#byId.set(id, unknown);
    unknown.ids.add(id);
  }

  /**
   * @param {Json} entry of the file, before it took place
   * @returns {string[]} faults
   */
  faultsBefore({ subjectType, timestamp, audit, state }) {
    if (subjectType !== 'execution' || (state.via ?? null) === null) return [];
    const isLate = audit.outcome === 'denied' && LATE_REASONS.includes(audit.reason);
    if (!AGREEING.includes(audit.action) && !isLate) return [];
    const isInTime = (/** @type {string} */ time) => Date.parse(timestamp) - Date.parse(time) < REFUSED_FOR;
    this.#erasedEnds.takeBefore(Date.parse(timestamp) - REFUSED_FOR + 1);
    this.erased = Math.max(this.erased, this.#erasedEnds.size);
    const { time, ids } = this.#unknown.get(hashOfRequest(state))?.at(-1) ?? {};
    if (time === undefined || ids === undefined || !isInTime(time) || ids.has(audit.details.repeats)) return [];
    return [`the same action had an unknown outcome as ${firstOf(ids).join(' and ')}, and the entry does not name it`];
  }

  /** @param {string} id of an execution that was erased, or that counts no more: the service does not find it */
  #forget(id) {
    const unknown = this.#byId.get(id);
    this.#byId.delete(id);
    if (unknown === undefined) return;
    unknown.ids.delete(id);
    const all = this.#unknown.get(unknown.hash) ?? [];
    while (all.at(-1)?.ids.size === 0) all.pop();
    while (all[0]?.ids.size === 0) all.shift();
    if (all.length === 0) this.#unknown.delete(unknown.hash);
  }
}

/**
 * Returns the first ones, as a log may have very many.
 * @param {Iterable<string>} ids
 */
function firstOf(ids) {
  const first = [];
  for (const id of ids) {
    if (first.length === MAX_NAMED) break;
    first.push(id);
  }
  return first;
}
