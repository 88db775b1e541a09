import { canonicalJson } from '../canonical-json.mjs';
import { isErased } from '../entry-check.mjs';
import { scopesOfChange } from './change-scopes.mjs';
import { isEmergency, needsTwoReviews } from './changes.mjs';
import { OF_TEAMS } from './made-requests.mjs';
import { OPERATOR } from './narration.mjs';
import { placeOf } from './reviewer.mjs';

/** Actions of entries that add a review. */
const REVIEWED = ['decision.reviewed', 'decision.approved', 'decision.rejected'];

/**
 * What only a whole log shows about a change: that it was made once, by the holder of a key of its proposer, and
 * approved with keys of the reviewers, under the rules that it names.
 *
 * @typedef {import('./read-file.mjs').Json} Json
 * @typedef {import('./history.mjs').History} History
 */
export class ChangeLog {
  /** The times of the emergencies without a review so far, by decision. @type {Map<string, string>} */
  #unreviewed = new Map();
  /**
   * The times of emergencies whose keys and people may not decide on changes yet, by decision.
   * @type {Map<string, string>}
   */
  #barring = new Map();
  /** Decisions that were erased so far, which may have been about emergencies. */
  #erased = 0;
  /** Decisions that were erased before the emergency that the file is about. */
  erasedEmergencies = 0;

  /** @param {History} history */
  constructor(history) {
    this.history = history;
  }

  /**
   * @param {Json} entry the next one of the log
   * @param {Json | null | undefined} state nothing if it was erased
   */
  add(entry, state) {
    const { action, subjectType, subjectId, timestamp } = entry;
    // Only settled decisions are erased, so an erasure settles none.
    if (subjectType !== 'decision' || action === 'decision.erased') return;
    if (state && needsTwoReviews(state) && state['status'] === 'proposed')
      this.#barring.set(subjectId, state['createdAt']);
    else this.#barring.delete(subjectId);
    if (isErased(entry) && !state) {
      if (this.#unreviewed.delete(subjectId) || action === 'decision.proposed') this.#erased += 1;
    } else if (state && isEmergency(state) && state['status'] === 'proposed') {
      if (!this.#unreviewed.has(subjectId)) this.#unreviewed.set(subjectId, timestamp);
    } else this.#unreviewed.delete(subjectId);
  }

  /**
   * @param {Json} entry of the log that the file does not have
   * @param {boolean} isCovered by the file’s checkpoint
   * @returns {string[]} faults
   */
  faultsOfOther({ action, audit }, isCovered) {
    const { changeId } = this.history;
    const isSecondUse = isCovered || this.history.makingEntry !== undefined;
    if (changeId === null || audit.details?.changeId !== changeId || !isSecondUse) return [];
    return [`${action} says that this change has made it, and the file lacks it`];
  }

  /**
   * @param {Json} entry of the file, before it took place
   * @param
   *   {{ keys: import('./key-registry.mjs').KeyRegistry, inForce: ReadonlySet<string>, agents: ReadonlyMap<string, Json> }}
   *   log so far: the keys and the policies in force, and the agents that the file names
   * @returns {string[]} faults
   */
  faultsBefore(entry, log) {
    const { changeId } = this.history;
    if (changeId === null) return [];
    return [
      ...this.#senderFaults(entry, log.keys),
      ...this.#ruleFaults(entry, log.inForce),
      ...this.#timeFaults(entry),
      ...this.#emergencyFaults(entry, log),
      ...this.#teamFaults(entry, log.keys),
      ...this.#reachFaults(entry, log),
      ...makerFaults(entry, log.agents),
    ];
  }

  /**
   * Finds a team that neither the body names nor the key has: what a key of a team writes is of this team.
   * @param {Json} entry
   * @param {import('./key-registry.mjs').KeyRegistry} keys
   */
  #teamFaults(entry, keys) {
    const { audit, state, timestamp } = entry;
    const { approvedBody: body } = this.history;
    if (!this.history.isMade(entry) || !OF_TEAMS.includes(audit.action) || !state || state.kind === 'human') return [];
    const keyTeam = audit.actor.type === 'api_key' ? (keys.get(audit.actor.id, timestamp)?.team ?? null) : null;
    const bodyTeam = body === undefined ? (state.team ?? null) : (body['team'] ?? null);
    const [team, expected] = [state.team ?? null, keyTeam ?? bodyTeam];
    return team === expected ? [] : [`the team is recorded as ${team}, and by the key and the body it is ${expected}`];
  }

  /**
   * Finds what a key of a team does not write: records of another team, and roles that are not the team's.
   * @param {Json} entry
   * @param {{ keys: import('./key-registry.mjs').KeyRegistry, agents: ReadonlyMap<string, Json> }} log
   */
  #reachFaults(entry, { keys, agents }) {
    const { subjectId, audit, state, timestamp } = entry;
    const team = keys.get(audit.actor.id, timestamp)?.team ?? null;
    if (!this.history.isMade(entry) || !state || team === null) return [];
    const [before, after] = [agents.get(subjectId)?.['roles'] ?? [], state.roles ?? []];
    const changed = [...before, ...after].filter((role) => !before.includes(role) || !after.includes(role));
    const foreign = changed.find((role) => !String(role).startsWith(`${team}.`));
    return [
      ...((state.team ?? null) === team
        ? []
        : [`the key ${audit.actor.id} is of the team ${team}, and ${subjectId} is not`]),
      ...(foreign === undefined ? [] : [`the key ${audit.actor.id} of the team ${team} changed the role ${foreign}`]),
    ];
  }

  /**
   * @param {Json} entry
   * @param {import('./key-registry.mjs').KeyRegistry} keys
   */
  #senderFaults({ subjectId, timestamp, audit, state }, keys) {
    const { action, actor } = audit;
    if (subjectId !== this.history.changeId || actor.type !== 'api_key' || actor.id === OPERATOR) return [];
    const isProposers = ['decision.proposed', 'decision.change_made'].includes(action);
    const approverId = REVIEWED.includes(action) ? state.reviews.at(-1)?.approverId : undefined;
    // Who rejects may name nobody.
    if (!isProposers && (approverId === undefined || approverId === null)) return [];
    const expected = isProposers ? state.proposedBy : approverId;
    const key = keys.get(actor.id, timestamp);
    const isByOwner = key !== undefined && key.agentId === expected;
    if (!isByOwner) return [`the key ${actor.id} is no key in force that is bound to ${expected ?? 'nobody'}`];
    if (action !== 'decision.proposed') return [];
    const missing = scopesOfChange(state, this.history.madeEntries).find((scope) => !key.scopes.has(scope));
    const deed = isEmergency(state) ? 'broke the glass' : 'proposed the change';
    return missing === undefined ? [] : [`the key ${actor.id}, which ${deed}, had not the scope ${missing}`];
  }

  /**
   * @param {Json} entry
   * @param {ReadonlySet<string>} inForce
   */
  #ruleFaults(entry, inForce) {
    const { makingEntry, ofSubject, madeEntries } = this.history;
    const hash = ofSubject[0]?.['state'].change?.rules;
    const isProposal = entry === ofSubject[0] && entry !== makingEntry;
    if (hash === undefined || !(isProposal || entry === madeEntries[0])) return [];
    const rules = this.history.rules(hash);
    const ids = rules?.policies.map(({ id }) => id) ?? [];
    return canonicalJson([...ids].sort()) === canonicalJson([...inForce].sort())
      ? []
      : [`other policies were in force than the change names: the log has ${inForce.size}, the file ${ids.length}`];
  }

  /**
   * Finds a key and people that were made in an emergency without a review: their `createdAt` is its time.
   * @param {Json} entry
   * @param {{ keys: import('./key-registry.mjs').KeyRegistry, agents: ReadonlyMap<string, Json> }} log
   */
  #emergencyFaults({ subjectId, timestamp, audit, state }, { keys, agents }) {
    if (subjectId !== this.history.changeId || !REVIEWED.includes(audit.action)) return [];
    const review = state.reviews.at(-1);
    const key = audit.actor.type === 'api_key' ? keys.get(audit.actor.id, timestamp) : undefined;
    const ids = [...new Set([review?.approverId, placeOf(review, this.history)])];
    const times = [...this.#barring.values()];
    const isBarred = (/** @type {unknown} */ createdAt) => times.some((time) => time === createdAt);
    return [
      ...(isBarred(key?.createdAt)
        ? [`the key ${audit.actor.id} was made in an emergency that nobody had reviewed`]
        : []),
      ...ids
        .filter((id) => isBarred(agents.get(id)?.['createdAt']))
        .map((id) => `${id} was registered in an emergency that nobody had reviewed`),
    ];
  }

  /** @param {Json} entry */
  #timeFaults(entry) {
    const { ofSubject, makingEntry } = this.history;
    if (entry !== makingEntry || entry !== ofSubject[0]) return [];
    const { before } = entry['state'].context;
    const first = [...this.#unreviewed.values(), entry['timestamp']].sort()[0];
    this.erasedEmergencies = this.#erased;
    // An erased decision may have been about an earlier emergency.
    return before === first || (before < first && this.#erased > 0)
      ? []
      : [`its reviewer had to be registered before ${first}, not before ${before}`];
  }
}

/**
 * Finds a change that was made while its caller could do nothing: the approval of others does not change that.
 * @param {Json} entry
 * @param {ReadonlyMap<string, Json>} agents
 */
function makerFaults({ action, state }, agents) {
  const isSuspended = action === 'decision.change_made' && agents.get(state.proposedBy)?.['status'] === 'suspended';
  return isSuspended ? [`${state.proposedBy}, who made the change, was suspended`] : [];
}
