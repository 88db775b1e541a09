import { hashOf } from '../../verifier/canonical-json.mjs';
import { evaluate, evaluateReview } from '../../verifier/evaluation/evaluate.mjs';
import { isWithin, textOf, unitsOf, usesOf } from '../../verifier/evaluation/limits.mjs';
import { areFilled } from '../../verifier/evaluation/matching.mjs';
import { approvalKey, milliseconds } from '../../verifier/evaluation/requirement.mjs';
import { matchesResource } from '../../verifier/evaluation/resources.mjs';
import { isStopping } from '../../verifier/evaluation/stops.mjs';
import { isApproverMetBy } from '../../verifier/evaluation/subjects.mjs';

/**
 * Answers every request anew from the entries before it: what agents may do by policies, limits, rejections, grants and
 * stops. Slow and plain, with all records in maps.
 *
 * @typedef {Record<string, any>} Json
 * @typedef {{ answer: 'authorized' | 'denied' | 'asked' | 'waiting' | 'approved', reason: string | null, grantId: string | null, id: string | null }} Expected
 */

const ASKED = ['execution.authorized', 'execution.denied', 'execution.approval_requested'];
const REVIEWED = ['decision.reviewed', 'decision.approved', 'decision.rejected'];
const DAY = 86_400_000;
const MOST_TRIED = 20;

export class ReferenceHistory {
  /** Maps kinds and then ids to records. @type {Map<string, Map<string, Json>>} */
  #records = new Map();
  /** Maps names of sums to what is used of limits. @type {Map<string, bigint>} */
  sums = new Map();
  /** Maps grants to the number of their uses. @type {Map<string, number>} */
  served = new Map();
  /** @type {Json[]} */
  differences = [];
  /** @type {Record<string, number>} */
  counts = {};

  /** @param {Json} entry the next one */
  add({ sequence, action, subjectType, subjectId, timestamp, state }) {
    if (ASKED.includes(action)) this.#expectAnswered({ sequence, action, state, timestamp });
    if (REVIEWED.includes(action)) this.#expectReviewed({ sequence, action, state, timestamp });
    if (action === 'decision.escalated') this.#expectEscalated({ sequence, state, timestamp });
    if (action === 'execution.resumed') this.#expectResumable({ sequence, state, timestamp });
    if (action === 'execution.resumed') this.#take(state, timestamp, this.#verdict(state, timestamp));
    const records = this.#of(subjectType);
    if (state === null) records.delete(subjectId);
    else records.set(subjectId, state);
  }

  /**
   * @param {Json} execution `agentId`, `action`, `resourceType`, `resourceId`, `parameters`, `run`
   * @param {string} time
   * @returns {Expected}
   */
  answerTo(execution, time) {
    const verdict = this.#verdict(execution, time);
    const nothing = { reason: null, grantId: null, id: null };
    if (verdict.effect === 'allow') return { ...nothing, answer: 'authorized' };
    if (verdict.effect === 'deny' || verdict.approval === null)
      return { ...nothing, answer: 'denied', reason: verdict.reason };
    const { approval } = verdict;
    const { agentId, action, resourceType, resourceId, parameters } = execution;
    const actionHash = hashOf({ agentId, action, resourceType, resourceId, parameters });
    const requests = [...this.#of('execution').values()].filter((one) => one['actionHash'] === actionHash).reverse();
    const open = requests.filter((one) => one['run'] === execution['run'] && this.#isFor(one, approval.approvers));
    const approved = open.find(({ outcome, approvedUntil }) => outcome === 'approved' && approvedUntil > time);
    if (approved !== undefined) return { ...nothing, answer: 'approved', id: approved['id'] };
    if (requests.some((one) => this.#isRejected(one, time)))
      return { ...nothing, answer: 'denied', reason: 'approval_rejected' };
    const grant = this.#grants(execution, time).find((one) => this.#holds(one, approval, time));
    if (grant !== undefined) return { ...nothing, answer: 'authorized', grantId: grant['id'] };
    const waiting = open.find((one) => one['outcome'] === 'pending_approval');
    return waiting === undefined
      ? { ...nothing, answer: 'asked' }
      : { ...nothing, answer: 'waiting', id: waiting['id'] };
  }

  /** @param {string} name @param {Json} difference */
  differ(name, difference) {
    this.differences.push({ name, ...difference });
  }

  /** @param {Json} entry */
  #expectAnswered({ sequence, action, state, timestamp }) {
    const expected = this.answerTo(state, timestamp);
    const answer = { authorized: 'authorized', denied: 'denied', approval_requested: 'asked' }[
      String(action.split('.')[1])
    ];
    const recordedAnswer = { answer, reason: state.reason ?? null, grantId: state.grantId ?? null };
    const { id: _, ...expectedAnswer } = expected;
    if (
      JSON.stringify([recordedAnswer.answer, recordedAnswer.reason, recordedAnswer.grantId]) !==
      JSON.stringify([expectedAnswer.answer, expectedAnswer.reason, expectedAnswer.grantId])
    )
      this.differ('an answer', { sequence, found: recordedAnswer, expected });
    const name = recordedAnswer.grantId === null ? `${answer} ${recordedAnswer.reason}` : 'served by a grant';
    this.counts[name] = (this.counts[name] ?? 0) + 1;
    if (answer !== 'authorized') return;
    if (recordedAnswer.grantId === null) this.#take(state, timestamp, this.#verdict(state, timestamp));
    else this.served.set(recordedAnswer.grantId, (this.served.get(recordedAnswer.grantId) ?? 0) + 1);
  }

  /** @param {Json} execution @param {string} timestamp */
  #verdict(execution, timestamp) {
    const { agentId, action, resourceType, resourceId, parameters } = execution;
    const agent = /** @type {any} */ (this.#of('agent').get(agentId));
    const policies = /** @type {any[]} */ (this.#policies);
    const request = { action, resourceType, resourceId, parameters, time: new Date(timestamp) };
    const isKept = (/** @type {any} */ policy) =>
      usesOf(policy, agentId, request).some(
        (use) => !isWithin(policy.limits[use.limit], { ...use, before: this.#before(policy, use) }),
      );
    const limitedPolicyIds = new Set(policies.filter(isKept).map(({ id }) => id));
    const isStopped = [...this.#of('stop').values()].some((stop) => isStopping(stop, agent, action));
    return evaluate(agent, { ...request, limitedPolicyIds }, policies, 'deny', { isStopped });
  }

  get #policies() {
    return [...this.#of('policy').values()]
      .filter(({ status }) => status === 'active')
      .sort((one, other) => (one['id'] < other['id'] ? -1 : 1));
  }

  /** @param {any} policy @param {any} use */
  #sumOf({ name, limits }, { limit, window, key }) {
    const { of = null, per, by } = limits[limit];
    return JSON.stringify([name, of, per, by, window, key]);
  }

  /** @param {any} policy @param {any} use */
  #before(policy, use) {
    return textOf(this.sums.get(this.#sumOf(policy, use)) ?? 0n);
  }

  /** @param {Json} execution @param {string} timestamp @param {any} verdict */
  #take({ agentId, parameters }, timestamp, { effect, policies }) {
    if (effect !== 'allow') return;
    for (const policy of policies)
      for (const use of usesOf(policy, agentId, { parameters, time: new Date(timestamp) })) {
        const sum = this.#sumOf(policy, use);
        this.sums.set(sum, (this.sums.get(sum) ?? 0n) + unitsOf(use.amount ?? '0'));
      }
  }

  /** @param {Json} execution @param {readonly any[]} approvers */
  #isFor({ decisionId }, approvers) {
    const own = (this.#of('decision').get(decisionId)?.['approvers'] ?? []).map(keyOf).sort();
    return JSON.stringify(own) === JSON.stringify(approvers.map(keyOf).sort());
  }

  /** @param {Json} execution @param {string} time */
  #isRejected({ outcome, decisionId }, time) {
    const decision = this.#of('decision').get(decisionId);
    if (outcome !== 'rejected' || decision === undefined) return false;
    const { expiresAt, resolvedAt } = decision;
    return Date.parse(time) < Math.min(Date.parse(expiresAt), Date.parse(resolvedAt) + DAY);
  }

  /** @param {Json} execution @param {string} time */
  #grants({ agentId, action, resourceType, resourceId, parameters }, time) {
    const hash = hashOf(parameters);
    const isMet = (/** @type {Json} */ grant) =>
      ['agentId', 'action', 'resourceType'].every((name) => grant[name] === { agentId, action, resourceType }[name]) &&
      grant['status'] === 'active' &&
      grant['until'] > time &&
      (grant['parametersHash'] ?? hash) === hash &&
      (grant['resources'] === null
        ? grant['resourceId'] === resourceId
        : matchesResource(
            { effect: 'allow', resources: grant['resources'], resourceTypes: [resourceType] },
            { resourceType, resourceId },
          ));
    return [...this.#of('grant').values()]
      .sort((one, other) => (one['id'] < other['id'] ? -1 : 1))
      .filter(isMet)
      .slice(0, MOST_TRIED);
  }

  /** @param {Json} grant @param {any} approval @param {string} time */
  #holds(grant, approval, time) {
    const { reviews, type, status, approvers } = /** @type {Json} */ (this.#of('decision').get(grant['decisionId']));
    const groups = approval.approvers.map((/** @type {any} */ group) => {
      const at = approvers.find((/** @type {any} */ other) => approvalKey(other) === approvalKey(group))?.escalate?.at;
      return at && group.escalate ? { ...group, escalate: { ...group.escalate, at } } : group;
    });
    const isRejection = status === 'rejected';
    const isWider = grant['resources'] !== null || grant['parametersHash'] === null;
    const { grant: allowed } = approval;
    const isOld =
      allowed === undefined || Date.parse(time) - Date.parse(grant['createdAt']) > milliseconds(allowed.for);
    if (!isRejection && (isOld || (isWider && !allowed.wider))) return false;
    if (!isRejection && allowed.uses !== null && (grant['uses'] === null || grant['uses'] > allowed.uses)) return false;
    const review = {
      action: 'decision:approve',
      resourceType: 'decision',
      resourceId: `decisions/${approval.riskLevel}/${type}`,
      time: new Date(time),
    };
    const filled = reviews
      .filter((/** @type {Json} */ { verdict }) => verdict === (isRejection ? 'reject' : 'approve'))
      .map(
        (/** @type {Json} */ recordedReview) =>
          /** @type {any} */ (this.#of('agent').get(this.#placeOf(recordedReview))),
      )
      .filter(
        (/** @type {any} */ reviewer) =>
          reviewer.status === 'active' &&
          evaluateReview(reviewer, review, /** @type {any} */ (this.#policies)).effect !== 'deny',
      )
      .map((/** @type {any} */ reviewer) => groupsOf(groups, reviewer));
    return areFilled(approval.approvers, filled);
  }

  /**
   * A review as the rules have it, one by one: who reviews, in whose place, and whether that settles the decision.
   * @param {Json} entry
   */
  #expectReviewed({ sequence, action, state, timestamp }) {
    const before = /** @type {Json} */ (this.#of('decision').get(state.id));
    const review = state.reviews.at(-1);
    const { approverId, verdict, delegationId } = review;
    if (approverId === null) return;
    const fault = (/** @type {string} */ what) => this.differ('a review', { sequence, what, review });
    const place = this.#placeOf(review);
    const people = /** @type {any[]} */ ([...new Set([approverId, place])].map((id) => this.#of('agent').get(id)));
    if (people.some(({ status }) => status !== 'active')) fault('somebody is suspended');
    for (const earlier of before['reviews']) {
      if (earlier.approverId === approverId) fault('one person fills two places');
      if (this.#placeOf(earlier) === place) fault('a place is filled twice');
    }
    if (delegationId !== undefined) {
      const { to, from, until, status } = /** @type {Json} */ (this.#of('delegation').get(delegationId));
      if (to !== approverId || status !== 'active' || from > timestamp || until <= timestamp) fault('no delegation');
      if (approverId === state.proposedBy) fault('in the place of another, of their own');
      this.counts['in another place'] = (this.counts['in another place'] ?? 0) + 1;
    }
    const request = {
      action: `decision:${verdict}`,
      resourceType: 'decision',
      resourceId: `decisions/${state.riskLevel}/${state.type}`,
      time: new Date(timestamp),
    };
    const policies = /** @type {any} */ (this.#policies);
    if (people.some((person) => evaluateReview(person, request, policies).effect === 'deny'))
      fault('a policy denies it');
    const own = /** @type {any} */ (this.#of('agent').get(place));
    const groups = groupsOf(before['approvers'], own);
    if (groups.length === 0) fault('no approver');
    if (JSON.stringify(review.groups) !== JSON.stringify(groups)) fault('other groups');
    if (groups.length > groupsOf(before['approvers'].map(withoutEscalation), own).length)
      this.counts['by an escalation'] = (this.counts['by an escalation'] ?? 0) + 1;
    const approvals = state.reviews.filter((/** @type {Json} */ one) => one['verdict'] === 'approve');
    const isFilled = canAssign(
      slotsOf(state.approvers),
      approvals.map((/** @type {Json} */ one) => one['groups']),
    );
    const expected = verdict === 'reject' ? 'rejected' : isFilled ? 'approved' : 'reviewed';
    if (action !== `decision.${expected}`) fault(`expected ${expected}`);
  }

  /** @param {Json} entry */
  #expectEscalated({ sequence, state, timestamp }) {
    const before = /** @type {Json} */ (this.#of('decision').get(state.id));
    state.approvers.forEach((/** @type {any} */ { escalate }, /** @type {number} */ index) => {
      const isNew = escalate?.at !== undefined && before['approvers'][index].escalate.at === undefined;
      if (!isNew) return;
      const due = Date.parse(state.createdAt) + milliseconds(escalate.after);
      const isFull = isFullInEvery(before, index);
      if (escalate.at !== timestamp || Date.parse(timestamp) < due || isFull)
        this.differ('an escalation', { sequence, index, escalate, isFull });
    });
  }

  /**
   * An approved action is carried out only if its approvals, of people who could still give them, fill what is required
   * now.
   * @param {Json} entry
   */
  #expectResumable({ sequence, state, timestamp }) {
    const { effect, approval } = this.#verdict(state, timestamp);
    if (effect !== 'require_approval' || approval === null) return;
    const { reviews, approvers } = /** @type {Json} */ (this.#of('decision').get(state.decisionId));
    const decided = approvers.map(approvalKey);
    const groups = reviews
      .filter((/** @type {Json} */ { verdict }) => verdict === 'approve')
      .flatMap((/** @type {Json} */ review) => {
        const person = /** @type {any} */ (this.#of('agent').get(this.#placeOf(review)));
        if (person.status !== 'active') return [];
        const now = groupsOf(approval.approvers, person);
        return [
          approval.approvers.flatMap((/** @type {any} */ group, /** @type {number} */ index) => {
            const then = decided.indexOf(approvalKey(group));
            return (then === -1 ? now.includes(index) : review['groups'].includes(then)) ? [index] : [];
          }),
        ];
      });
    if (!canAssign(slotsOf(approval.approvers), groups)) this.differ('a resume', { sequence, groups, approval });
  }

  /** @param {Json} review */
  #placeOf({ approverId, delegationId }) {
    return delegationId === undefined ? approverId : this.#of('delegation').get(delegationId)?.['agentId'];
  }

  /** @param {string} kind @returns {Map<string, Json>} */
  #of(kind) {
    const records = this.#records.get(kind) ?? new Map();
    this.#records.set(kind, records);
    return records;
  }
}

/** @param {any} group */
function keyOf(group) {
  const { after = null, subjects = [] } = group.escalate ?? {};
  return JSON.stringify([approvalKey(group), group.approvals, after, [...subjects].sort()]);
}

/** @param {readonly any[]} groups @param {any} agent @returns {number[]} */
function groupsOf(groups, agent) {
  return groups.flatMap(({ subjects, escalate }, index) => {
    const all = escalate?.at === undefined ? subjects : [...subjects, ...escalate.subjects];
    return all.some((/** @type {string} */ subject) => isApproverMetBy(subject, agent)) ? [index] : [];
  });
}

/** @param {any} group */
function withoutEscalation({ escalate: _escalate, ...group }) {
  return group;
}

/** The groups, each as often as it needs an approval. @param {readonly any[]} groups @returns {number[]} */
function slotsOf(groups) {
  return groups.flatMap(({ approvals }, index) => Array.from({ length: approvals }, () => index));
}

/**
 * Whether each slot can have an approval of its own, by trying all ways.
 * @param {readonly number[]} slots @param {readonly (readonly number[])[]} approvals @returns {boolean}
 */
function canAssign([slot, ...others], approvals) {
  if (slot === undefined) return true;
  return approvals.some(
    (groups, index) =>
      groups.includes(slot) &&
      canAssign(
        others,
        approvals.filter((_, other) => other !== index),
      ),
  );
}

/**
 * The most slots that approvals fill, by trying all ways.
 * @param {readonly number[]} slots @param {readonly (readonly number[])[]} approvals @returns {number}
 */
function mostFilled([slot, ...others], approvals) {
  if (slot === undefined) return 0;
  const ways = approvals.flatMap((groups, index) =>
    groups.includes(slot)
      ? [
          1 +
            mostFilled(
              others,
              approvals.filter((_, other) => other !== index),
            ),
        ]
      : [],
  );
  return Math.max(mostFilled(others, approvals), ...ways);
}

/** True if one more approval of the group would add nothing. @param {Json} decision @param {number} index */
function isFullInEvery({ approvers, reviews }, index) {
  const approvals = reviews.flatMap((/** @type {Json} */ { verdict, groups }) =>
    verdict === 'approve' ? [groups] : [],
  );
  return mostFilled(slotsOf(approvers), [...approvals, [index]]) === mostFilled(slotsOf(approvers), approvals);
}
