import { isBeforePolicies, matchingPolicies } from '../evaluation/evaluate.mjs';
import { UNKNOWN } from './repeating.mjs';
import { isAmount, isWithin, OF_REQUEST, usesOf } from '../evaluation/limits.mjs';
import { ZONES } from '../evaluation/zone-data.mjs';

/**
 * The recorded uses of limits, and the policies that a full limit kept from matching.
 *
 * @typedef {import('./read-file.mjs').Json} Json
 * @typedef {import('./report.mjs').Report} Report
 * @typedef {import('../evaluation/evaluate.mjs').Policy} Policy
 * @typedef {import('../evaluation/evaluate.mjs').Request} Request
 * @typedef {import('../evaluation/evaluate.mjs').Agent} Agent
 * @typedef {import('../evaluation/limits.mjs').Use} Use
 * @typedef {{ verdict: import('../evaluation/evaluate.mjs').Verdict, policies: readonly Policy[] }} VerdictWithPolicies by these policies in force
 */

/** HMAC-SHA256 in base64url. */
const DIGEST = /^[\w-]{43}$/u;

/**
 * @param {Json} details
 * @returns {ReadonlySet<string>} the ids of policies that a limit kept from matching
 */
export function limitedPolicyIds({ limited = [] }) {
  return new Set((Array.isArray(limited) ? limited : []).map(({ policyId }) => String(policyId)));
}

/**
 * Recomputes the uses. Only the entry vouches for what was used before; the request and the policies give everything
 * else.
 * @param {Pick<Json, 'state' | 'audit'>} entry
 * @param {Request} request
 * @param {Agent} agent
 * @param {VerdictWithPolicies} decided
 * @param {Report} report
 */
export function recomputeUses({ state, audit }, request, agent, { verdict, policies }, report) {
  const { used = [], limited = [] } = audit.details;
  const isBeforeMatching = isBeforePolicies(verdict) || audit.reason === 'extension_refused';
  const isTaken = verdict.effect === 'allow' && audit.reason !== UNKNOWN;
  const decidingPolicies = isBeforeMatching || !isTaken ? [] : verdict.policies;
  const { zones } = audit.details;
  const plainUses = (/** @type {unknown} */ uses) =>
    withoutBefore(uses, policies).map((use) => withoutForeignWindow(use, policies, zones));
  const expected = plainUses(decidingPolicies.flatMap((policy) => usesOf(policy, state.agentId, request)));
  report.expect('details.used', plainUses(used), expected);
  const highest = verdict.policies[0]?.priority ?? -Infinity;
  const couldMatch = isBeforeMatching
    ? []
    : matchingPolicies(agent, { ...request, limitedPolicyIds: new Set() }, policies);
  const possibleUses = couldMatch
    .filter(({ priority }) => priority >= highest)
    .flatMap((policy) => usesOf(policy, state.agentId, request));
  const limitedUses = plainUses(limited);
  const plainPossible = plainUses(possibleUses);
  const isNamed = (/** @type {object} */ use) =>
    limitedUses.some((limitedUse) => JSON.stringify(limitedUse) === JSON.stringify(use));
  report.expect('details.limited', limitedUses, plainPossible.filter(isNamed));
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
 * @param {import('../evaluation/limits.mjs').Limit} limit
 * @param {Use} use
 * @param {boolean} isTaken
 */
function sentence({ name, version }, { max, per, by, zone = 'UTC' }, { limit, window, before, amount }, isTaken) {
  const equal = by === 'request' ? ' of equal requests' : '';
  const limitText = `the limit [${limit}] of ${name} ${version}, ${max}${equal} in the ${per} from ${window} (${zone})`;
  const amountText =
    amount === null ? 'no amount that counts was requested' : `${amount} was ${isTaken ? 'taken' : 'requested'}`;
  return `Of ${limitText}, ${before} was used before; ${amountText}${isTaken ? '.' : ', so the policy did not match.'}`;
}

/**
 * Removes the amounts used before, and makes the digests of requests equal, because only the service can compute them.
 * @param {unknown} uses
 * @param {readonly Policy[]} policies in force
 */
function withoutBefore(uses, policies) {
  return (Array.isArray(uses) ? uses : []).map((use) => {
    const { before: _, ...content } = /** @type {Use} */ (use);
    const limit = policies.find(({ id }) => id === content.policyId)?.limits?.[content.limit];
    const isOfRequest = limit?.by === 'request' && DIGEST.test(String(content.key));
    return withSortedMembers(isOfRequest ? { ...content, key: OF_REQUEST } : content);
  });
}

/**
 * Leaves out when a window began by a version of the time zones that this verifier does not have.
 * @param {Omit<Use, 'before'>} use
 * @param {readonly Policy[]} policies in force
 * @param {unknown} zones the version by which the entry was decided
 */
function withoutForeignWindow(use, policies, zones) {
  const limit = policies.find(({ id }) => id === use.policyId)?.limits?.[use.limit];
  const isForeign = limit?.zone !== undefined && zones !== undefined && zones !== ZONES.version;
  return isForeign ? withSortedMembers({ ...use, window: '' }) : use;
}

/**
 * Returns the use with its members in a fixed order.
 * @param {Omit<Use, 'before'>} use
 */
function withSortedMembers({ policyId, limit, window, key, amount }) {
  return { policyId, limit, window, key, amount };
}
