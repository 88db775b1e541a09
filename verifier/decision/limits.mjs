import { isBeforePolicies, matching } from '../evaluation/evaluate.mjs';
import { UNKNOWN } from './repeating.mjs';
import { isAmount, isWithin, usesOf } from '../evaluation/limits.mjs';

/**
 * What was used of limits, and which of them kept policies from matching.
 *
 * @typedef {import('./read-file.mjs').Json} Json
 * @typedef {import('./report.mjs').Report} Report
 * @typedef {import('../evaluation/evaluate.mjs').Policy} Policy
 * @typedef {import('../evaluation/evaluate.mjs').Request} Request
 * @typedef {import('../evaluation/evaluate.mjs').Agent} Agent
 * @typedef {import('../evaluation/limits.mjs').Use} Use
 * @typedef {{ verdict: import('../evaluation/evaluate.mjs').Verdict, policies: readonly Policy[] }} Decided by these policies in force
 */

/**
 * @param {Json} details
 * @returns {ReadonlySet<string>} the ids of policies that a limit kept from matching
 */
export function keptByLimits({ limited = [] }) {
  return new Set((Array.isArray(limited) ? limited : []).map(({ policyId }) => String(policyId)));
}

/**
 * What was used before is the word of the entry; everything else follows from the request and the policies.
 * @param {Pick<Json, 'state' | 'audit'>} entry
 * @param {Request} request
 * @param {Agent} agent
 * @param {Decided} decided
 * @param {Report} report
 */
export function recomputeUses({ state, audit }, request, agent, { verdict, policies }, report) {
  const { used = [], limited = [] } = audit.details;
  const isUnasked = isBeforePolicies(verdict) || audit.reason === 'extension_refused';
  const isTaken = verdict.effect === 'allow' && audit.reason !== UNKNOWN;
  const deciding = isUnasked || !isTaken ? [] : verdict.policies;
  const expected = deciding.flatMap((policy) => usesOf(policy, state.agentId, request)).map(sorted);
  report.expect('details.used', withoutBefore(used), expected);
  const highest = verdict.policies[0]?.priority ?? -Infinity;
  const couldMatch = isUnasked ? [] : matching(agent, { ...request, kept: new Set() }, policies);
  const asked = couldMatch
    .filter(({ priority }) => priority >= highest)
    .flatMap((policy) => usesOf(policy, state.agentId, request));
  const named = withoutBefore(limited);
  const isNamed = (/** @type {object} */ use) =>
    named.some((one) => JSON.stringify(one) === JSON.stringify(sorted(/** @type {Use} */ (use))));
  report.expect('details.limited', named, asked.filter(isNamed).map(sorted));
  for (const use of /** @type {Use[]} */ ([...used, ...limited])) {
    const policy = policies.find(({ id }) => id === use.policyId);
    const limit = policy?.limits?.[use.limit];
    if (
      policy === undefined ||
      limit === undefined ||
      !isAmount(use.before) ||
      !(use.amount === null || isAmount(use.amount))
    ) {
      report.differ('details.used or limited names a limit that is not in force');
      continue;
    }
    const fits = isWithin(limit, use);
    const isUsed = used.includes(use);
    if (fits !== isUsed)
      report.differ(`the limit [${use.limit}] of ${policy.name} ${fits ? 'was not reached' : 'was exceeded'}`);
    report.say(sentence(policy, limit, use, isUsed));
  }
}

/**
 * @param {Policy} policy
 * @param {{ max: number, per: string }} limit
 * @param {Use} use
 * @param {boolean} isTaken
 */
function sentence({ name, version }, { max, per }, { limit, window, before, amount }, isTaken) {
  const of = `the limit [${limit}] of ${name} ${version}, ${max} in the ${per} from ${window}`;
  const asked =
    amount === null ? 'no amount that counts was asked for' : `${amount} was ${isTaken ? 'taken' : 'asked for'}`;
  return `Of ${of}, ${before} was used before; ${asked}${isTaken ? '.' : ', so the policy did not match.'}`;
}

/** @param {unknown} uses */
function withoutBefore(uses) {
  return (Array.isArray(uses) ? uses : []).map((use) => {
    const { before: _, ...rest } = /** @type {Use} */ (use);
    return sorted(rest);
  });
}

/**
 * With its members in one order.
 * @param {Omit<Use, 'before'>} use
 */
function sorted({ policyId, limit, window, key, amount }) {
  return { policyId, limit, window, key, amount };
}
