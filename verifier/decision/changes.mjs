import { isErased } from '../entry-check.mjs';
import { RECORD_ACTIONS } from '../record-actions.mjs';
import { approvalsOf, milliseconds } from '../evaluation/requirement.mjs';
import { isOfProposer, scopesOfChange } from './change-scopes.mjs';
import { canWait, expectRequest } from './made-requests.mjs';
import { madeText } from './made-text.mjs';
import { agentText, countText, OPERATOR, requirementText, senderText } from './narration.mjs';

/**
 * Recomputes changes that need a second person: api-decisions.md, "Changes that need a second person".
 *
 * @typedef {import('./read-file.mjs').Json} Json
 * @typedef {import('./history.mjs').History} History
 * @typedef {import('./report.mjs').Report} Report
 */

const CHANGE = 'change';
/** The type of a decision on what was done in an emergency. */
const CHANGE_REVIEW = 'change_review';
const DECIDE_WITHIN_MS = 7 * 86_400_000;
const MEMBERS = ['bodyHash', 'madeAt', 'method', 'path', 'rules', 'summary'];
const HASH = /^[0-9a-f]{64}$/;
const CALLERS = ['api_key', 'token'];

/** Actions whose entries have the reason that a request gave, if it gave one. */
const WITH_REASON = ['agent.resumed', 'stop.lifted'];

/**
 * True for a decision on what was done in an emergency.
 * @param {Json} decision
 */
export function isEmergency({ type, change }) {
  return type === CHANGE_REVIEW && change !== undefined;
}

/**
 * True for a decision on an emergency that two people have to review. Until then, keys and people made in the emergency
 * decide on no change. One person is enough if a person broke the glass, and was enough before this rule existed.
 * @param {Json} decision
 */
export function needsTwoReviews(decision) {
  return isEmergency(decision) && approvalsOf(decision['approvers'] ?? []) > 1;
}

/**
 * True for the entry that begins the review of an emergency.
 * @param {Json} entry
 */
export function isEmergencyProposal({ audit, state }) {
  return audit.action === 'decision.proposed' && isEmergency(state);
}

/**
 * True if an entry says which entries a change has made.
 * @param {Json} entry
 */
export function isMaking(entry) {
  return entry['audit'].action === 'decision.change_made' || isEmergencyProposal(entry);
}

/**
 * Names how a change ended so far.
 * @param {Json} decision
 */
export function outcomeOfChange({ type, status, change }) {
  return type === CHANGE && change?.madeAt !== undefined ? 'made' : status;
}

/**
 * Checks a proposed change, or a change that was made in an emergency and is to be reviewed.
 * @param {Json} entry `decision.proposed`
 * @param {History} history
 * @param {Report} report
 */
export function recomputeProposal(entry, history, report) {
  const { state, audit, sequence, timestamp } = entry;
  const { change, proposedBy, type } = state;
  const isReview = isEmergency(state);
  if (!isReview) report.expect('the type', type, CHANGE);
  const proposer = proposedBy === null ? undefined : history.agentBefore(proposedBy, sequence);
  if (proposedBy !== null && proposer === undefined)
    report.lack(`the file has no entry of the agent ${proposedBy} that proposed it`);
  expectChange(change, isReview ? timestamp : undefined, report);
  const summary = String(change.summary);
  const expected = {
    title: isReview ? `Review of an emergency: ${summary}` : summary,
    riskLevel: 'high',
    executionId: undefined,
    actionHash: undefined,
    grant: undefined,
    expiresAt: isReview ? null : new Date(Date.parse(timestamp) + DECIDE_WITHIN_MS).toISOString(),
    requiredApprovals: approvalsOf(state.approvers ?? []),
    ...(isReview
      ? {
          approvers: reviewersOf(state, proposer?.['kind'] === 'human'),
          executeWithin: undefined,
          context: { before: state.context.before },
        }
      : { description: '', context: {} }),
  };
  for (const [name, value] of Object.entries(expected)) report.expect(`the decision’s ${name}`, state[name], value);
  report.expect('the caller who proposed it', state.actor, { type: audit.actor.type, id: audit.actor.id });
  if (!CALLERS.includes(audit.actor.type)) report.differ(`nobody proposes a change as ${String(audit.actor.type)}`);
  if (audit.actor.id === OPERATOR) report.expect('the agent of the operator’s key', proposedBy, null);
  const sender = senderText(audit.actor);
  if (audit.actor.type === 'token') expectTokens(state, sender, history, report);
  const who = proposer === undefined ? `The holder of ${sender}` : `${agentText(proposer)}, with ${sender},`;
  const request = `${summary} The request was ${change.method} ${change.path}, with a body of the hash ${change.bodyHash}.`;
  if (isReview) {
    report.say(`${who} made a change in an emergency, for the reason ${JSON.stringify(state.description)}: ${request}`);
    report.expect('details.breakGlass', audit.details.breakGlass, true);
    report.expect('the reason', audit.reason, state.description);
    if (!(String(state.context.before) <= timestamp))
      report.differ('its reviewer has to be registered before the emergency');
    // One review was enough before this rule.
    if (needsTwoReviews(state) && canWait(change))
      report.differ(`${change.method} ${change.path} waits for a second person even in an emergency`);
    const reviewers = needsTwoReviews(state) ? 'Two people who were' : 'A person who was';
    if (!needsTwoReviews(state))
      report.note(
        'One person was enough to review the emergency: that the service was of an older version, or a person broke the glass, rests on the operator’s word.',
      );
    report.say(`${reviewers} registered before ${state.context.before} had to review it.`);
    expectMadeEntries(entry, history, report);
    return;
  }
  report.say(`${who} proposed a change: ${request}`);
  expectApprovers(state, proposer?.['kind'] === 'human', report);
}

/**
 * Checks a change of a token: every token acts as an agent, and none has `admin`.
 * @param {Json} decision
 * @param {string} sender
 * @param {History} history
 * @param {Report} report
 */
function expectTokens(decision, sender, history, report) {
  if (decision['proposedBy'] === null) report.differ(`${sender} acts as an agent, and no agent proposed it`);
  if (scopesOfChange(decision, history.madeEntries).includes('admin'))
    report.differ(`${sender} has not the scope admin, which the change needs`);
}

/**
 * Returns who reviews an emergency, except those whom its rules leave out.
 * @param {Json} decision
 * @param {boolean} isByPerson
 */
function reviewersOf(decision, isByPerson) {
  return [{ subjects: ['kind:human'], approvals: !isByPerson && needsTwoReviews(decision) ? 2 : 1 }];
}

/**
 * @param {Json} change
 * @param {string | undefined} madeAt
 * @param {Report} report
 */
function expectChange(change, madeAt, report) {
  const unknown = Object.keys(change).find((name) => !MEMBERS.includes(name));
  if (unknown !== undefined) report.differ(`the change has a member ${unknown} that this verifier does not know`);
  const texts = ['method', 'path', 'summary'];
  if (!texts.every((name) => typeof change[name] === 'string') || !HASH.test(String(change['bodyHash'])))
    report.differ('the change has not its method, path, bodyHash and summary');
  report.expect('when it was made', change['madeAt'], madeAt);
}

/**
 * @param {Json} decision
 * @param {boolean} isByPerson
 * @param {Report} report
 */
function expectApprovers({ approvers = [], executeWithin, expiresAt }, isByPerson, report) {
  const least = isByPerson ? 1 : 2;
  if (!(approvers[0]?.approvals >= least))
    report.differ(
      isByPerson
        ? 'the change names nobody who has to approve it'
        : 'no person proposed the change, so its first group needs one approval more',
    );
  if (!(milliseconds(String(executeWithin)) > 0))
    report.differ('the decision does not say for how long its approval is good');
  report.say(
    `It had to be approved until ${expiresAt}: ${requirementText(approvers)}, never by its proposer` +
      `${isByPerson ? '' : '; as no person proposed it, by one more in the first group'}. Then it could be made within ${executeWithin}.`,
  );
}

/**
 * Checks who reviewed a change: only people, with keys or tokens of their own, and never their own change.
 * @param {Json} entry of the review
 * @param {Json} review
 * @param {readonly Json[]} reviewers the reviewer and, by a delegation, the person in whose place it was; none for the
 *   holder of a key
 * @param {History} history
 * @param {Report} report
 */
export function expectMayDecide({ state, audit }, { verdict }, reviewers, history, report) {
  if (state.change === undefined) return;
  const isReview = isEmergency(state);
  const isProposer = reviewers.some(({ id }) => id === state.proposedBy);
  const isWithdrawn = !isReview && verdict === 'reject';
  if (!isWithdrawn && (audit['actor'].id === OPERATOR || !CALLERS.includes(audit['actor'].type)))
    report.differ(`${senderText(audit['actor'])} decides on no change`);
  if (isReview && reviewers.length === 0) report.differ('nobody is named as the reviewer of the emergency');
  if (isProposer && isReview) report.differ('who broke the glass reviewed it');
  else if (isProposer && verdict === 'approve') report.differ('the change was approved by its proposer');
  if (reviewers.some(({ kind }) => kind !== 'human') && !(isWithdrawn && isProposer))
    report.differ('only people decide on changes');
  if (needsTwoReviews(state) && history.madeEntries.some(({ subjectId }) => subjectId === audit['actor'].id))
    report.differ('the key of the review was made in the emergency');
  const late = reviewers.find(({ createdAt }) => isReview && !(createdAt < state.context.before));
  if (late !== undefined)
    report.differ(
      `${late['id']}, who reviewed it, was registered at ${late['createdAt']}, not before ${state.context.before}`,
    );
}

/**
 * Checks that an approved change was made once, in time, by the caller who proposed it.
 * @param {Json} entry `decision.change_made`
 * @param {History} history
 * @param {Report} report
 */
export function recomputeMaking(entry, history, report) {
  const { state, audit, sequence, timestamp, subjectId } = entry;
  const before = history.stateBefore(history.entriesAbout('decision', subjectId), sequence);
  if (before === undefined) return undefined;
  if (state.change === undefined) return report.differ('the decision is about no change');
  report.expect('the type', state.type, CHANGE);
  report.expect('the status before', before['status'], 'approved');
  report.expect('when it was made before', before['change']?.madeAt, undefined);
  report.expect('the change', state.change, { ...before['change'], madeAt: timestamp });
  report.expect('the caller who made it', { type: audit.actor.type, id: audit.actor.id }, state.actor);
  const until = Date.parse(String(before['resolvedAt'])) + milliseconds(String(before['executeWithin']));
  if (!(Date.parse(timestamp) < until))
    report.differ(`the change was made at ${timestamp}, and its approval of ${before['resolvedAt']} was good for less`);
  const sender = senderText(audit.actor);
  if (audit.actor.type === 'token') expectTokens(state, sender, history, report);
  report.say(`So the change was made, by the caller who had proposed it, with ${sender}.`);
  return expectMadeEntries(entry, history, report);
}

/**
 * Checks the entries that a change has made, all together.
 * @param {Json} entry that names them
 * @param {History} history
 * @param {Report} report
 */
function expectMadeEntries({ state, audit, sequence }, history, report) {
  const { firstSequence: first, lastSequence: last } = audit.details;
  const made = history.madeEntries;
  if (!Number.isSafeInteger(first) || last !== sequence - 1 || first > sequence || first < 1)
    report.differ(`a change whose entries are ${first} to ${last} would not end with entry ${sequence}`);
  else if (made.length !== sequence - first)
    report.differ(`the file has ${made.length} of the ${sequence - first} entries that the change has made`);
  const other = history.entries.find(
    (entry) => entry['audit'].details?.changeId === state.id && !history.isMade(entry),
  );
  if (other !== undefined)
    report.differ(
      `${other['action']} says that this change has made it, and is not among its entries`,
      other['sequence'],
    );
  report.say(
    made.length === 0
      ? 'It left no entries besides this one.'
      : `It made ${countText(made.length, 'entry', 'entries')}, from ${first} to ${last}, in one commit.`,
  );
  expectRequest(state.change, made, history, report);
}

/**
 * Checks one of the entries that a change has made.
 * @param {Json} entry
 * @param {History} history
 * @param {Report} report
 */
export function recomputeMade(entry, history, report) {
  const { audit, timestamp, action, subjectId } = entry;
  const making = history.makingEntry;
  if (making === undefined) return undefined;
  const decision = making['state'];
  report.begin(entry, true);
  report.expect('the time', timestamp, making['timestamp']);
  report.expect('the outcome', audit.outcome, 'success');
  report.expect('the caller', { type: audit.actor.type, id: audit.actor.id }, decision.actor);
  if (isErased(entry)) return report.say(`By this change: ${action} of ${subjectId}, which was erased since.`);
  for (const name of ['requestId', 'ip']) report.expect(name, audit[name], making['audit'][name]);
  const isReview = isEmergency(decision);
  const { changeId, breakGlass } = audit.details;
  // A module may have members of these names, too.
  const isOfService = Object.hasOwn(RECORD_ACTIONS, action);
  if (!isReview || isOfService) report.expect('details.changeId', changeId, isReview ? undefined : decision.id);
  if (isReview || isOfService) report.expect('details.breakGlass', breakGlass, isReview ? true : undefined);
  if (isOfProposer(entry, decision)) report.differ(`${subjectId} acts as the caller who proposed the change of it`);
  if (isReview && !WITH_REASON.includes(action)) report.expect('the reason', audit.reason, decision.description);
  return report.say(`By this change: ${madeText(entry)}`);
}
