import { matchesAction } from '../evaluation/actions.mjs';
import { isBeforePolicies, matchingPolicies } from '../evaluation/evaluate.mjs';
import { isSupported, scalarAt } from '../evaluation/conditions.mjs';
import { ZONES } from '../evaluation/zone-data.mjs';
import { milliseconds } from '../evaluation/requirement.mjs';
import { normalFormC } from '../evaluation/normal-form.mjs';
import { claimedEntityIn, withoutSlash } from '../evaluation/resources.mjs';

/**
 * Facts of an entry beyond its request; the file must contain every record that they name.
 *
 * @typedef {import('./read-file.mjs').Json} Json
 * @typedef {import('./history.mjs').History} History
 * @typedef {import('./report.mjs').Report} Report
 * @typedef {import('../evaluation/conditions.mjs').Condition} Condition
 * @typedef {import('../evaluation/conditions.mjs').Truth} Truth
 * @typedef {import('../evaluation/evaluate.mjs').Policy} Policy
 * @typedef {import('../evaluation/evaluate.mjs').Request} Request
 * @typedef {import('../evaluation/evaluate.mjs').Agent} Agent
 * @typedef {import('../evaluation/evaluate.mjs').Verdict} Verdict
 * @typedef {{ policies: readonly Policy[], evaluation: number }} Rules
 * @typedef {{ value: number, context: number }} Sizes of a claim, in bytes
 * @typedef {{ policyId: string, condition: number, executionId: string | null }} Earlier
 */

/** Bounds of the claims about an entity that count: docs/policies.md, "What is known of the target". */
const MAX_CLAIMS = 100;
export const MAX_VALUE_BYTES = 1_000;
const MAX_CONTEXT_BYTES = 65_536;

/**
 * @param {Json} entry
 * @param {Rules} rules in force
 * @param {History} history
 * @param {Report} report
 * @returns {NonNullable<Request['truthOfFact']>}
 */
export function recomputeFacts(entry, { policies, evaluation }, history, report) {
  const truths = new Map([
    ...recomputeEarlier(entry, policies, history, report),
    ...recomputeClaims(entry, { policies, evaluation }, history, report),
  ]);
  return (policyId, index) => truths.get(`${policyId} ${index}`);
}

/**
 * @param {Json} entry
 * @param {readonly Policy[]} policies in force
 * @param {History} history
 * @param {Report} report
 * @returns {Map<string, Truth>}
 */
function recomputeEarlier({ state, audit, sequence, timestamp }, policies, history, report) {
  /** @type {Map<string, Truth>} */
  const truths = new Map();
  for (const { policyId, condition: index, executionId } of earlierIn(audit.details)) {
    const policy = policies.find(({ id }) => id === policyId);
    const condition = policy?.conditions?.[index];
    if (policy === undefined || condition?.earlier === undefined) {
      report.differ('details.earlier names a condition that is not in force');
      continue;
    }
    const earlier = executionId === null ? undefined : history.earlier(executionId, sequence);
    const isFound =
      executionId !== null &&
      (history.isLost('execution', executionId, { agentId: state.agentId }) ||
        (earlier !== undefined && isEarlier(condition, earlier, { state, timestamp })));
    if (executionId !== null && !isFound)
      report.differ(
        `the file has no earlier execution ${executionId} that the condition [${index}] of ${policy.name} looks for`,
      );
    truths.set(`${policyId} ${index}`, (executionId !== null) === condition.value);
    const conditionText = `the condition [${index}] of ${policy.name} ${policy.version}`;
    const reach = reachText(condition);
    report.say(
      executionId === null
        ? `By the word of the entry, ${conditionText} found no earlier ${condition.earlier} ${reach}; a file alone does not show that.`
        : `For ${conditionText}, ${executionId} had been authorized before ${reach}.`,
    );
  }
  return truths;
}

/**
 * @param {Json} entry
 * @param {Rules} rules in force
 * @param {History} history
 * @param {Report} report
 * @returns {Map<string, Truth>}
 */
function recomputeClaims({ state, audit, sequence }, { policies, evaluation }, history, report) {
  /** @type {Map<string, Truth>} */
  const truths = new Map();
  for (const { policyId, condition: index, entityId, ids } of claimsIn(audit.details)) {
    const policy = policies.find(({ id }) => id === policyId);
    const condition = policy?.conditions?.[index];
    if (
      policy === undefined ||
      condition?.claim === undefined ||
      entityId !== claimedEntityIn(state['resourceId'], evaluation)
    ) {
      report.differ('details.claims names a condition that is not in force, or another entity');
      continue;
    }
    const claims = (ids ?? []).map((id) => history.claim(id, sequence));
    const areClaims = claims.every((claim, position) =>
      claim === undefined
        ? history.isLost('claim', String(ids?.[position]), { entityId })
        : isClaimOf(condition, claim, entityId),
    );
    if (!areClaims)
      report.differ(
        `the file lacks claims about ${entityId} that the condition [${index}] of ${policy.name} looked at`,
      );
    const weightedClaims = claims.flatMap((claim) => (claim === undefined ? [] : [withConfidence(claim)]));
    const value = scalarAt(state['parameters'], condition.parameter ?? '', evaluation >= 3);
    const guess = history.guesses.get(`${policyId} ${index}`);
    const truth = ids === null ? undefined : (guess ?? isSupported(condition, value, weightedClaims));
    truths.set(`${policyId} ${index}`, truth);
    report.say(
      `For the condition [${index}] of ${policy.name} ${policy.version}, ${ids === null ? 'nothing was known' : `${ids.length} claims were known`} ` +
        `of ${entityId}, so it is ${truth ?? 'unknown'}; a file alone does not show that there was no other.`,
    );
  }
  return truths;
}

/**
 * True if an execution is one that the condition looks for.
 * @param {Condition} condition
 * @param {Json} authorization the entry that authorised it
 * @param {Json} entry the entry whose conditions are evaluated
 */
export function isEarlier({ earlier: pattern = '', within, resource }, authorization, entry) {
  const [earlier, execution] = [authorization['state'], entry['state']];
  const isSame =
    earlier['resourceType'] === execution['resourceType'] &&
    pathOf(earlier['resourceId']) === pathOf(execution['resourceId']);
  const isInReach = within
    ? isInTime({ within }, authorization['timestamp'], entry['timestamp'])
    : execution['run'] !== undefined && earlier['run'] === execution['run'];
  return (
    isInReach &&
    earlier['agentId'] === execution['agentId'] &&
    matchesAction(pattern, earlier['action']) &&
    (resource !== 'same' || isSame)
  );
}

/**
 * True if the condition has no time limit, or the earlier time lies within it.
 * @param {Pick<Condition, 'within'>} condition
 * @param {string} earlier
 * @param {string} now
 */
export function isInTime({ within }, earlier, now) {
  return !within || Date.parse(earlier) >= Date.parse(now) - milliseconds(within);
}

/** @param {Condition} condition */
export function reachText({ within }) {
  return within ? `within ${within}` : 'in the run';
}

/**
 * @param {Condition} condition
 * @param {Json} claim its state
 * @param {string} entityId
 */
export function isClaimOf({ claim: predicate = '' }, claim, entityId) {
  return claim['entityId'] === entityId && normalFormC(String(claim['predicate'])) === normalFormC(predicate);
}

/**
 * Returns the bytes of a claim that are bounded.
 * @param {Json} claim its state
 * @returns {Sizes}
 */
export function sizesOf({ value, context }) {
  return { value: bytesOf(value), context: bytesOf(context) };
}

/**
 * True if there are too many claims, or a claim is too long, so that no claim counts.
 * @param {readonly Sizes[]} claims of one predicate
 */
export function isTooMuch(claims) {
  if (claims.length > MAX_CLAIMS || claims.some(({ value }) => value > MAX_VALUE_BYTES)) return true;
  return claims.reduce((sum, { context }) => sum + context, 0) > MAX_CONTEXT_BYTES;
}

/** @param {unknown} value */
function bytesOf(value) {
  return new TextEncoder().encode(JSON.stringify(value)).length;
}

/** @param {Json} claim */
function withConfidence({ value, context }) {
  return { value, confidence: typeof context.confidence === 'number' ? context.confidence : 0 };
}

/** @param {string} resourceId */
export function pathOf(resourceId) {
  return normalFormC(withoutSlash(String(resourceId)));
}

/**
 * Compares the recorded facts with those that could have decided: the entry must name all of them.
 * @param {Json} entry
 * @param {Request} request
 * @param {Agent} agent
 * @param {{ verdict: Verdict, policies: readonly Policy[], evaluation: number }} decided
 * @param {Report} report
 */
export function expectFacts({ state, audit }, request, agent, { verdict, policies, evaluation }, report) {
  const highest = verdict.policies[0]?.priority ?? -Infinity;
  const isBeforeMatching = isBeforePolicies(verdict);
  const open = { ...request, limitedPolicyIds: new Set(), truthOfFact: () => /** @type {const} */ (true) };
  const matches = isBeforeMatching
    ? []
    : matchingPolicies(agent, open, policies).filter(({ priority }) => priority >= highest);
  const expected = matches.flatMap(({ id, conditions = [] }) =>
    conditions.flatMap(({ earlier, within }, condition) =>
      earlier === undefined || (!within && state['run'] === undefined) ? [] : [{ policyId: id, condition }],
    ),
  );
  const recordedEarlier = earlierIn(audit.details).map(({ policyId, condition }) => ({ policyId, condition }));
  report.expect('details.earlier', recordedEarlier, expected);
  const entityId = claimedEntityIn(state['resourceId'], evaluation);
  const aboutIt = matches.flatMap(({ id, conditions = [] }) =>
    conditions.flatMap(({ claim, parameter = '' }, condition) =>
      claim === undefined ||
      entityId === undefined ||
      scalarAt(state['parameters'], parameter, evaluation >= 3) === undefined
        ? []
        : [{ policyId: id, condition, entityId }],
    ),
  );
  const recordedClaims = claimsIn(audit.details).map(({ policyId, condition, entityId: claimedEntityId }) => ({
    policyId,
    condition,
    entityId: claimedEntityId,
  }));
  report.expect('details.claims', recordedClaims, aboutIt);
}

/**
 * Compares the recorded version of the time zones: from the third version of the rules on, an entry names it if a clock
 * could have decided.
 * @param {Json} entry
 * @param {Request} request
 * @param {Agent} agent
 * @param {{ verdict: Verdict, policies: readonly Policy[], evaluation: number }} decided
 * @param {Report} report
 */
export function expectZones({ audit }, request, agent, { verdict, policies, evaluation }, report) {
  const highest = verdict.policies[0]?.priority ?? -Infinity;
  const clockPolicies = policies.filter(
    ({ priority, conditions = [], limits = [] }) =>
      priority >= highest &&
      (conditions.some(({ clock }) => clock !== undefined) || limits.some(({ zone }) => zone !== undefined)),
  );
  const open = clockPolicies.map((policy) => ({ ...policy, conditions: [] }));
  const needsClock =
    evaluation >= 3 &&
    !isBeforePolicies(verdict) &&
    matchingPolicies(agent, { ...request, limitedPolicyIds: new Set() }, open).length > 0;
  const { zones } = audit.details;
  report.expect('details.zones', zones ?? null, needsClock ? (hasForeignZones(audit) ? zones : ZONES.version) : null);
}

/**
 * True if an entry was decided by another version of the time zones than the verifier has.
 * @param {Json} audit
 */
export function hasForeignZones({ details: { zones } }) {
  return zones !== undefined && zones !== ZONES.version;
}

/**
 * @param {Json} details
 * @returns {Earlier[]}
 */
export function earlierIn({ earlier = [] }) {
  return Array.isArray(earlier) ? earlier : [];
}

/**
 * @param {Json} details
 * @returns {{ policyId: string, condition: number, entityId: string, ids: string[] | null }[]}
 */
export function claimsIn({ claims = [] }) {
  return Array.isArray(claims) ? claims : [];
}
