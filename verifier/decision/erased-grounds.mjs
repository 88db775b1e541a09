import { isErased } from '../entry-check.mjs';
import { claimsIn, earlierIn, isInTime } from './facts.mjs';
import { AUTHORISING, BEGINNINGS } from './history.mjs';
import { limitUsesIn } from './limit-window.mjs';
import { REFUSED_FOR } from './repeating.mjs';

/**
 * What was erased from a log so far and could have decided otherwise: an entry that says that there was none may be
 * wrong, and nothing shows it.
 *
 * @typedef {import('./read-file.mjs').Json} Json
 * @typedef {import('./read-file.mjs').Policy} Policy
 * @typedef {{ time: string, open: number }} Erased the last time, and how many still had their contents then
 */

const DAY = 86_400_000;
/** Actions of executions that are decided. */
const DECIDING = [...BEGINNINGS, 'execution.resumed'];
/** Actions that a rejection, or an unknown outcome, keeps out. */
const KEPT_OUT = ['execution.authorized', 'execution.approval_requested', 'execution.resumed'];

export class ErasedGrounds {
  /** Maps agents to their executions that were authorised. @type {Map<string, Erased>} */
  #authorised = new Map();
  /** The ids of those whose erasures are not read yet: until then the service found them. @type {Set<string>} */
  #open = new Set();
  /** The last time at which any of them was authorised. */
  #lastTime = '';
  /** Maps agents to the last time of a rejection. @type {Map<string, string>} */
  #rejected = new Map();
  /** Maps agents to the last time of a result. @type {Map<string, string>} */
  #completed = new Map();
  /** The entities whose claims were erased later. @type {Set<string>} */
  #entities = new Set();

  /** @param {Json} entry the next one of the log */
  add(entry) {
    const { action, subjectId, timestamp, audit } = entry;
    if (action === 'entity.erased') this.#entities.delete(subjectId);
    if (action === 'execution.erased' && this.#open.delete(subjectId)) {
      const erased = this.#authorised.get(audit.agentId);
      if (erased !== undefined) erased.open -= 1;
    }
    if (!isErased(entry)) return;
    if (action === 'claim.added') this.#entities.add(audit.entityId);
    if (action === 'execution.rejected') this.#rejected.set(audit.agentId, timestamp);
    if (action === 'execution.completed') this.#completed.set(audit.agentId, timestamp);
    if (!AUTHORISING.includes(action)) return;
    this.#open.add(subjectId);
    this.#lastTime = timestamp;
    const { open } = this.#authorised.get(audit.agentId) ?? { open: 0 };
    this.#authorised.set(audit.agentId, { time: timestamp, open: open + 1 });
  }

  /**
   * True if any of it could have decided about an execution.
   * @param {Json} entry
   * @param {import('./log-history.mjs').LogHistory} history
   */
  mayDecide(entry, history) {
    const { action, audit, state } = entry;
    if (!DECIDING.includes(action)) return false;
    const last = this.#authorised.get(state['agentId']);
    const grant = history.entriesAbout('grant', state['grantId'] ?? null).at(-1)?.['state'];
    return (
      claimsIn(audit.details).some(({ entityId }) => this.#entities.has(entityId)) ||
      (last !== undefined && last.open > 0 && this.#mayBeEarlier(entry, history.ruleSets.policies, last.time)) ||
      limitUsesIn([entry]).some(({ window, key }) => this.#timeFor(key, last) >= window) ||
      (Boolean(grant) && grant?.['uses'] !== null && (last?.time ?? '') >= grant?.['createdAt']) ||
      this.#mayKeepOut(entry)
    );
  }

  /**
   * @param {Json} entry
   * @param {readonly Policy[]} policies
   * @param {string} time
   */
  #mayBeEarlier({ audit, timestamp }, policies, time) {
    return earlierIn(audit.details)
      .filter(({ executionId }) => executionId === null)
      .some(({ policyId, condition }) => {
        const rule = policies.find(({ id }) => id === policyId)?.conditions?.[condition];
        return rule !== undefined && isInTime(rule, time, timestamp);
      });
  }

  /**
   * Returns when an execution was authorised last that counts for a limit.
   * @param {unknown} key
   * @param {Erased | undefined} last one of the agent
   */
  #timeFor(key, last) {
    return key === null ? this.#lastTime : (last?.time ?? '');
  }

  /** @param {Json} entry */
  #mayKeepOut({ action, timestamp, state }) {
    if (!KEPT_OUT.includes(action)) return false;
    const isWithin = (/** @type {string | undefined} */ time, /** @type {number} */ length) =>
      time !== undefined && Date.parse(timestamp) - Date.parse(time) < length;
    const isBinding = action === 'execution.approval_requested' || state['grantId'] !== undefined;
    return (
      (isBinding && isWithin(this.#rejected.get(state['agentId']), DAY)) ||
      ((state['via'] ?? null) !== null && isWithin(this.#completed.get(state['agentId']), REFUSED_FOR))
    );
  }
}
