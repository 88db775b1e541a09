import { matchesAction } from '../evaluation/actions.mjs';
import { isBeforePolicies, matching } from '../evaluation/evaluate.mjs';
import { isSupported, scalarAt } from '../evaluation/conditions.mjs';
import { ZONES } from '../evaluation/zone-data.mjs';
import { milliseconds } from '../evaluation/requirement.mjs';
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
 * @typedef {{ policyId: string, condition: number, executionId: string | null }} Earlier
 */

/** What counts as known of an entity: docs/policies.md, "What is known of the target". */
const MOST_CLAIMS = 100;
const MAX_VALUE_BYTES = 1_000;
const MAX_CONTEXT_BYTES = 65_536;

/**
 * @param {Json} entry
 * @param {Rules} rules in force
 * @param {History} history
 * @param {Report} report
 * @returns {NonNullable<Request['known']>}
 */
export function found(entry, { policies, evaluation }, history, report) {
  const known = new Map([
    ...foundEarlier(entry, policies, history, report),
    ...foundClaims(entry, { policies, evaluation }, history, report),
  ]);
  return (policyId, index) => known.get(`${policyId} ${index}`);
}

/**
 * @param {Json} entry
 * @param {readonly Policy[]} policies in force
 * @param {History} history
 * @param {Report} report
 * @returns {Map<string, Truth>}
 */
function foundEarlier({ state, audit, sequence, timestamp }, policies, history, report) {
  /** @type {Map<string, Truth>} */
  const known = new Map();
  for (const { policyId, condition: index, executionId } of earlierIn(audit.details)) {
    const policy = policies.find(({ id }) => id === policyId);
    const condition = policy?.conditions?.[index];
    if (policy === undefined || condition?.earlier === undefined) {
      report.differ('details.earlier names a condition that is not in force');
      continue;
    }
    const earlier = executionId === null ? undefined : history.earlier(executionId, sequence);
    const isFound = earlier !== undefined && isEarlier(condition, earlier, { state, timestamp });
    if (executionId !== null && !isFound)
      report.differ(
        `the file has no earlier execution ${executionId} as the condition [${index}] of ${policy.name} asks`,
      );
    known.set(`${policyId} ${index}`, (executionId !== null) === condition.value);
    const asked = `the condition [${index}] of ${policy.name} ${policy.version}`;
    const reach = reachText(condition);
    report.say(
      executionId === null
        ? `By the word of the entry, ${asked} found no earlier ${condition.earlier} ${reach}; a file alone does not show that.`
        : `For ${asked}, ${executionId} had been authorized before ${reach}.`,
    );
  }
  return known;
}

/**
 * @param {Json} entry
 * @param {Rules} rules in force
 * @param {History} history
 * @param {Report} report
 * @returns {Map<string, Truth>}
 */
function foundClaims({ state, audit, sequence }, { policies, evaluation }, history, report) {
  /** @type {Map<string, Truth>} */
  const known = new Map();
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
    if (!claims.every((claim) => claim !== undefined && isClaimOf(condition, claim, entityId)))
      report.differ(
        `the file has not the claims of ${entityId} that the condition [${index}] of ${policy.name} looked at`,
      );
    const counting = claims.flatMap((claim) => (claim === undefined ? [] : [weighed(claim)]));
    const value = scalarAt(state['parameters'], condition.parameter ?? '');
    const truth = ids === null ? undefined : isSupported(condition, value, counting);
    known.set(`${policyId} ${index}`, truth);
    report.say(
      `For the condition [${index}] of ${policy.name} ${policy.version}, ${ids === null ? 'nothing was known' : `${ids.length} claims were known`} ` +
        `of ${entityId}, so it is ${truth ?? 'unknown'}; a file alone does not show that there was no other.`,
    );
  }
  return known;
}

/**
 * Whether an execution is one that the condition asks for.
 * @param {Condition} condition
 * @param {Json} authorizing the entry that authorised it
 * @param {Json} asking the entry that asks
 */
export function isEarlier({ earlier: pattern = '', within, resource }, authorizing, asking) {
  const [earlier, asked] = [authorizing['state'], asking['state']];
  const isSame =
    earlier['resourceType'] === asked['resourceType'] && pathOf(earlier['resourceId']) === pathOf(asked['resourceId']);
  const isInReach = within
    ? isInTime({ within }, authorizing['timestamp'], asking['timestamp'])
    : asked['run'] !== undefined && earlier['run'] === asked['run'];
  return (
    isInReach &&
    earlier['agentId'] === asked['agentId'] &&
    matchesAction(pattern, earlier['action']) &&
    (resource !== 'same' || isSame)
  );
}

/**
 * True if a condition that looks back for a time looks back so far.
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
  return claim['entityId'] === entityId && claim['predicate'].normalize() === predicate.normalize();
}

/**
 * True if so much is claimed that nothing counts as known.
 * @param {readonly Json[]} claims of one predicate, their states
 */
export function isTooMuchClaimed(claims) {
  return claims.length > MOST_CLAIMS || claims.some(({ value, context }) => isTooLong(value, context));
}

/**
 * @param {unknown} value
 * @param {unknown} context
 */
function isTooLong(value, context) {
  return bytesOf(value) > MAX_VALUE_BYTES || bytesOf(context) > MAX_CONTEXT_BYTES;
}

/** @param {unknown} value */
function bytesOf(value) {
  return new TextEncoder().encode(JSON.stringify(value)).length;
}

/** @param {Json} claim */
function weighed({ value, context }) {
  return { value, confidence: typeof context.confidence === 'number' ? context.confidence : 0 };
}

/** @param {string} resourceId */
function pathOf(resourceId) {
  return withoutSlash(resourceId).normalize();
}

/**
 * Everything that could have decided has to have been looked at.
 * @param {Json} entry
 * @param {Request} request
 * @param {Agent} agent
 * @param {{ verdict: Verdict, policies: readonly Policy[], evaluation: number }} decided
 * @param {Report} report
 */
export function expectLooked({ state, audit }, request, agent, { verdict, policies, evaluation }, report) {
  const highest = verdict.policies[0]?.priority ?? -Infinity;
  const isUnasked = isBeforePolicies(verdict);
  const open = { ...request, kept: new Set(), known: () => /** @type {const} */ (true) };
  const asking = isUnasked ? [] : matching(agent, open, policies).filter(({ priority }) => priority >= highest);
  const expected = asking.flatMap(({ id, conditions = [] }) =>
    conditions.flatMap(({ earlier, within }, condition) =>
      earlier === undefined || (!within && state['run'] === undefined) ? [] : [{ policyId: id, condition }],
    ),
  );
  const named = earlierIn(audit.details).map(({ policyId, condition }) => ({ policyId, condition }));
  report.expect('details.earlier', named, expected);
  const entityId = claimedEntityIn(state['resourceId'], evaluation);
  const aboutIt = asking.flatMap(({ id, conditions = [] }) =>
    conditions.flatMap(({ claim, parameter = '' }, condition) =>
      claim === undefined || entityId === undefined || scalarAt(state['parameters'], parameter) === undefined
        ? []
        : [{ policyId: id, condition, entityId }],
    ),
  );
  const looked = claimsIn(audit.details).map(({ policyId, condition, entityId: of }) => ({
    policyId,
    condition,
    entityId: of,
  }));
  report.expect('details.claims', looked, aboutIt);
}

/**
 * From the third version of the rules on, an entry names the database of time zones where a clock could have decided.
 * @param {Json} entry
 * @param {Request} request
 * @param {Agent} agent
 * @param {{ verdict: Verdict, policies: readonly Policy[], evaluation: number }} decided
 * @param {Report} report
 */
export function expectZones({ audit }, request, agent, { verdict, policies, evaluation }, report) {
  const highest = verdict.policies[0]?.priority ?? -Infinity;
  const clocked = policies.filter(
    ({ priority, conditions = [] }) => priority >= highest && conditions.some(({ clock }) => clock !== undefined),
  );
  const open = clocked.map((policy) => ({ ...policy, conditions: [] }));
  const isAsked =
    evaluation >= 3 && !isBeforePolicies(verdict) && matching(agent, { ...request, kept: new Set() }, open).length > 0;
  report.expect('details.zones', audit.details.zones ?? null, isAsked ? ZONES.version : null);
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
