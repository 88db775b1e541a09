import { scopesOfChange } from './change-scopes.mjs';
import { isEmergency, isEmergencyProposal } from './changes.mjs';
import { OF_TEAMS } from './made-requests.mjs';
import { OPERATOR } from './narration.mjs';
import { placeOf } from './reviewer.mjs';

/** Actions of entries that add a review. */
export const REVIEWED = ['decision.reviewed', 'decision.approved', 'decision.rejected'];

/**
 * Checks what only a whole log shows about a change: that it was made by the holder of a key of its proposer, and
 * approved with keys of the reviewers, who were no people of an open emergency.
 *
 * @typedef {import('./read-file.mjs').Json} Json
 * @typedef {object} LogBefore the log before an entry
 * @property {import('./key-registry.mjs').KeyRegistry} keys
 * @property {{ get(id: string): Json | undefined }} agents as they are
 * @property {import('./open-emergencies.mjs').OpenEmergencies} emergencies
 * @property {import('./history.mjs').History} history
 */

/**
 * @param {Json} entry about a decision on a change
 * @param {LogBefore} log
 * @returns {string[]} faults
 */
export function changeFaults(entry, log) {
  const { makingEntry, madeEntries } = log.history;
  return [
    ...senderFaults(entry, log),
    ...timeFaults(entry, log),
    ...emergencyFaults(entry, log),
    ...makerFaults(entry, log),
    ...(entry === makingEntry
      ? madeEntries.flatMap((made) => [...teamFaults(made, log), ...reachFaults(made, log)])
      : []),
  ];
}

/**
 * Finds a team that neither the body names nor the key has: what a key of a team writes is of this team.
 * @param {Json} made an entry of the change
 * @param {LogBefore} log
 * @returns {string[]}
 */
function teamFaults({ audit, state, timestamp }, { keys, history }) {
  if (!OF_TEAMS.includes(audit.action) || !state || state.kind === 'human') return [];
  const { approvedBody: body } = history;
  const keyTeam = audit.actor.type === 'api_key' ? (keys.get(audit.actor.id, timestamp)?.team ?? null) : null;
  const bodyTeam = body === undefined ? (state.team ?? null) : (body['team'] ?? null);
  const [team, expected] = [state.team ?? null, keyTeam ?? bodyTeam];
  return team === expected ? [] : [`the team is recorded as ${team}, and by the key and the body it is ${expected}`];
}

/**
 * Finds what a key of a team does not write: records of another team, and roles that are not the team's.
 * @param {Json} made an entry of the change
 * @param {LogBefore} log
 * @returns {string[]}
 */
function reachFaults({ subjectType, subjectId, sequence, audit, state, timestamp }, { keys, history }) {
  const team = keys.get(audit.actor.id, timestamp)?.team ?? null;
  if (!state || team === null) return [];
  const agent = subjectType === 'agent' ? history.agentBefore(subjectId, sequence) : undefined;
  const [before, after] = [agent?.['roles'] ?? [], state.roles ?? []];
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
 * @param {LogBefore} log
 * @returns {string[]}
 */
function senderFaults({ timestamp, audit, state }, { keys, history }) {
  const { action, actor } = audit;
  if (actor.type !== 'api_key' || actor.id === OPERATOR) return [];
  const isProposers = ['decision.proposed', 'decision.change_made'].includes(action);
  const approverId = REVIEWED.includes(action) ? state.reviews.at(-1)?.approverId : undefined;
  // Who rejects may name nobody.
  if (!isProposers && (approverId === undefined || approverId === null)) return [];
  const expected = isProposers ? state.proposedBy : approverId;
  const key = keys.get(actor.id, timestamp);
  const isByOwner = key !== undefined && key.agentId === expected;
  if (!isByOwner) return [`the key ${actor.id} is no key in force that is bound to ${expected ?? 'nobody'}`];
  if (!isProposers) return [];
  const missing = scopesOfChange(state, history.madeEntries).find((scope) => !key.scopes.has(scope));
  const deed = isEmergency(state) ? 'broke the glass' : 'proposed the change';
  return missing === undefined ? [] : [`the key ${actor.id}, which ${deed}, had not the scope ${missing}`];
}

/**
 * Finds a key and people that were made in an emergency without a review.
 * @param {Json} entry
 * @param {LogBefore} log
 * @returns {string[]}
 */
function emergencyFaults({ timestamp, audit, state }, { keys, agents, emergencies, history }) {
  if (!REVIEWED.includes(audit.action)) return [];
  const review = state.reviews.at(-1);
  const key = audit.actor.type === 'api_key' ? keys.get(audit.actor.id, timestamp) : undefined;
  const ids = [...new Set([review?.approverId, placeOf(review, history)])];
  return [
    ...(emergencies.isBarred(key?.createdAt)
      ? [`the key ${audit.actor.id} was made in an emergency that nobody had reviewed`]
      : []),
    ...ids
      .filter((id) => emergencies.isBarred(agents.get(id)?.['createdAt']))
      .map((id) => `${id} was registered in an emergency that nobody had reviewed`),
  ];
}

/**
 * @param {Json} entry
 * @param {LogBefore} log
 * @returns {string[]}
 */
function timeFaults(entry, { emergencies }) {
  if (!isEmergencyProposal(entry)) return [];
  const { before } = entry['state'].context;
  const first = emergencies.firstTime(entry['timestamp']);
  // An erased decision may have been about an earlier emergency.
  return before === first || (before < first && emergencies.erased > 0)
    ? []
    : [`its reviewer had to be registered before ${first}, not before ${before}`];
}

/**
 * Finds a change that was made while its caller could do nothing: the approval of others does not change that.
 * @param {Json} entry
 * @param {LogBefore} log
 * @returns {string[]}
 */
function makerFaults({ action, state }, { agents }) {
  const isSuspended = action === 'decision.change_made' && agents.get(state.proposedBy)?.['status'] === 'suspended';
  return isSuspended ? [`${state.proposedBy}, who made the change, was suspended`] : [];
}
