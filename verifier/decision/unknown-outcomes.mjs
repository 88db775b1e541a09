import { hashOfRequest } from './request-hash.mjs';
import { LATE_REASONS, REFUSED_FOR, UNKNOWN } from './repeating.mjs';

/** @typedef {import('./read-file.mjs').Json} Json */

/** Actions of a gateway's request to which the service agrees only if it names the unknown outcome that it repeats. */
const AGREEING = ['execution.authorized', 'execution.approval_requested', 'execution.resumed'];

/** Finds requests of gateways that repeat an action whose outcome is unknown, and do not say so. */
export class UnknownOutcomes {
  /**
   * Maps the hash of a request to the executions of it with an unknown outcome, and when it became unknown.
   * @type {Map<string, Map<string, string>>}
   */
  #unknown = new Map();
  /** The times at which executions ended whose contents were erased. @type {string[]} */
  #erasedTimes = [];
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
    if (!state) this.#erasedTimes.push(timestamp);
    else if (state['outcome'] === 'failed' && state['reason'] === UNKNOWN) {
      const hash = hashOfRequest(state);
      const executions = this.#unknown.get(hash) ?? new Map();
      this.#unknown.set(hash, executions.set(subjectId, timestamp));
    }
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
    this.#erasedTimes = this.#erasedTimes.filter(isInTime);
    this.erased = Math.max(this.erased, this.#erasedTimes.length);
    const executions = [...(this.#unknown.get(hashOfRequest(state)) ?? [])];
    const newest = executions
      .map(([, time]) => time)
      .sort()
      .at(-1);
    if (newest === undefined || !isInTime(newest)) return [];
    const ids = executions.filter(([, time]) => time === newest).map(([id]) => id);
    return ids.includes(audit.details.repeats)
      ? []
      : [`the same action had an unknown outcome as ${ids.join(' and ')}, and the entry does not name it`];
  }

  /** @param {string} id of an execution that was erased: the service does not find it any more */
  #forget(id) {
    for (const executions of this.#unknown.values()) executions.delete(id);
  }
}
