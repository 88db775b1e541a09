import { isEmergencyProposal } from './changes.mjs';

/**
 * Finds changes of the rules that nobody approved although earlier ones needed a second person: docs/four-eyes.md. Only
 * the operator knows if `FOUR_EYES` was off.
 *
 * @typedef {import('./read-file.mjs').Json} Json
 */

const HELD = [
  ...['policy.created', 'policy.activated', 'policy.deactivated', 'agent.created', 'agent.updated', 'agent.resumed'],
  ...['api_key.created', 'webhook.created', 'webhook.updated', 'webhook.deleted', 'stop.lifted', 'erasure.begun'],
];
/** The members that one person changes: a description, and the status of a webhook that goes on. */
const FREE = ['description', 'status'];

export class SecondPerson {
  #isNeeded = false;

  /**
   * @param {Json} entry the next one of the log
   * @param {(id: string, timestamp: string) => import('./key-registry.mjs').Key | undefined} keyOf returns a key in
   *   force
   * @returns {boolean} true if one person made a change
   */
  isAlone({ action, timestamp, audit, state }, keyOf) {
    if (action === 'decision.change_made' || state?.change !== undefined) this.#isNeeded = true;
    const { actor, details } = audit;
    if (!this.#isNeeded || !HELD.includes(action) || actor.type === 'system') return false;
    const { changeId, breakGlass, fields = [] } = details ?? {};
    if (changeId !== undefined || breakGlass === true) return false;
    const isFree = action.endsWith('.updated') && [fields].flat().every((name) => FREE.includes(name));
    const isDirectory = keyOf(actor.id, timestamp)?.scopes.has('directory') === true;
    return !isFree && !isDirectory;
  }
}

/**
 * True for an emergency that one review settles although no person made it: two are needed now.
 * @param {Json} entry
 */
export function isOfOneReview(entry) {
  return isEmergencyProposal(entry) && entry['state'].requiredApprovals === 1;
}
