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
const DAY = 86_400_000;
const MOST_TRIED = 20;

export class ReferenceHistory {
  /** By kind, then by id. @type {Map<string, Map<string, Json>>} */
  #records = new Map();
  /** What is used of limits, by name of the sum. @type {Map<string, bigint>} */
  sums = new Map();
  /** How often grants have served. @type {Map<string, number>} */
  served = new Map();
  /** @type {Json[]} */
  differences = [];
  /** @type {Record<string, number>} */
  counts = {};

  /** @param {Json} entry the next one */
  add({ sequence, action, subjectType, subjectId, timestamp, state }) {
    if (ASKED.includes(action)) this.#expectAnswered({ sequence, action, state, timestamp });
    if (action === 'execution.resumed') this.#take(state, timestamp, this.#verdict(state, timestamp));
    const records = this.#of(subjectType);
    if (state === null) records.delete(subjectId);
    else records.set(subjectId, state);
  }

  /**
   * @param {Json} asked `agentId`, `action`, `resourceType`, `resourceId`, `parameters`, `run`
   * @param {string} time
   * @returns {Expected}
   */
  answerTo(asked, time) {
    const verdict = this.#verdict(asked, time);
    const nothing = { reason: null, grantId: null, id: null };
    if (verdict.effect === 'allow') return { ...nothing, answer: 'authorized' };
    if (verdict.effect === 'deny' || verdict.approval === null)
      return { ...nothing, answer: 'denied', reason: verdict.reason };
    const { approval } = verdict;
    const { agentId, action, resourceType, resourceId, parameters } = asked;
    const actionHash = hashOf({ agentId, action, resourceType, resourceId, parameters });
    const requests = [...this.#of('execution').values()].filter((one) => one['actionHash'] === actionHash).reverse();
    const open = requests.filter((one) => one['run'] === asked['run'] && this.#isFor(one, approval.approvers));
    const approved = open.find(({ outcome, approvedUntil }) => outcome === 'approved' && approvedUntil > time);
    if (approved !== undefined) return { ...nothing, answer: 'approved', id: approved['id'] };
    if (requests.some((one) => this.#isRejected(one, time)))
      return { ...nothing, answer: 'denied', reason: 'approval_rejected' };
    const grant = this.#grants(asked, time).find((one) => this.#holds(one, approval, time));
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
    const found = { answer, reason: state.reason ?? null, grantId: state.grantId ?? null };
    const { id: _, ...wanted } = expected;
    if (
      JSON.stringify([found.answer, found.reason, found.grantId]) !==
      JSON.stringify([wanted.answer, wanted.reason, wanted.grantId])
    )
      this.differ('an answer', { sequence, found, expected });
    const name = found.grantId === null ? `${answer} ${found.reason}` : 'served by a grant';
    this.counts[name] = (this.counts[name] ?? 0) + 1;
    if (answer !== 'authorized') return;
    if (found.grantId === null) this.#take(state, timestamp, this.#verdict(state, timestamp));
    else this.served.set(found.grantId, (this.served.get(found.grantId) ?? 0) + 1);
  }

  /** @param {Json} asked @param {string} timestamp */
  #verdict(asked, timestamp) {
    const { agentId, action, resourceType, resourceId, parameters } = asked;
    const agent = /** @type {any} */ (this.#of('agent').get(agentId));
    const policies = /** @type {any[]} */ (this.#policies);
    const request = { action, resourceType, resourceId, parameters, time: new Date(timestamp) };
    const isKept = (/** @type {any} */ policy) =>
      usesOf(policy, agentId, request).some(
        (use) => !isWithin(policy.limits[use.limit], { ...use, before: this.#before(policy, use) }),
      );
    const kept = new Set(policies.filter(isKept).map(({ id }) => id));
    const isStopped = [...this.#of('stop').values()].some((stop) => isStopping(stop, agent, action));
    return evaluate(agent, { ...request, kept }, policies, 'deny', { isStopped });
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

  /** @param {Json} asked @param {string} timestamp @param {any} verdict */
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

  /** @param {Json} asked @param {string} time */
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
    const { reviews, type, status } = /** @type {Json} */ (this.#of('decision').get(grant['decisionId']));
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
      .map((/** @type {Json} */ { approverId }) => /** @type {any} */ (this.#of('agent').get(approverId)))
      .filter(
        (/** @type {any} */ reviewer) =>
          reviewer.status === 'active' &&
          evaluateReview(reviewer, review, /** @type {any} */ (this.#policies)).effect !== 'deny',
      )
      .map((/** @type {any} */ reviewer) =>
        approval.approvers.flatMap((/** @type {any} */ { subjects }, /** @type {number} */ index) =>
          subjects.some((/** @type {string} */ subject) => isApproverMetBy(subject, reviewer)) ? [index] : [],
        ),
      );
    return areFilled(approval.approvers, filled);
  }

  /** @param {string} kind @returns {Map<string, Json>} */
  #of(kind) {
    const known = this.#records.get(kind) ?? new Map();
    this.#records.set(kind, known);
    return known;
  }
}

/** @param {any} group */
function keyOf(group) {
  return `${approvalKey(group)} ${group.approvals}`;
}
