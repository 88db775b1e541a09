import { matchesAction, isCapable } from './actions.mjs';
import { areTrue } from './conditions.mjs';
import { combineRequirements, isTooLarge, withPrincipal } from './requirement.mjs';
import { matchesResource } from './resources.mjs';
import { isOnBehalf } from './principals.mjs';
import { isMetBy } from './subjects.mjs';

/** The most deciding policies that an entry names. */
export const MAX_NAMED = 10;

/**
 * Evaluates policies by docs/policies.md. Written from that page alone, independently of the service's own evaluator.
 *
 * @typedef {import('./subjects.mjs').Agent} Agent
 * @typedef {import('./conditions.mjs').Condition} Condition
 * @typedef {import('./principals.mjs').Principal} Principal
 * @typedef {import('./requirement.mjs').Requirement} Requirement
 * @typedef {object} Policy
 * @property {string} id
 * @property {string} name
 * @property {string} version
 * @property {string} effect `allow`, `deny` or `require_approval`
 * @property {readonly string[]} subjects
 * @property {readonly string[]} actions
 * @property {readonly string[]} resources
 * @property {readonly string[]} resourceTypes
 * @property {number} priority
 * @property {readonly Condition[]} [conditions]
 * @property {readonly import('./limits.mjs').Limit[]} [limits]
 * @property {readonly string[]} [onBehalfOf]
 * @property {Requirement | null} [approval]
 * @property {string | null} [team] to whose agents alone it applies
 *
 * @typedef {object} Request
 * @property {string} action
 * @property {string} resourceType
 * @property {string} resourceId
 * @property {Readonly<Record<string, unknown>>} parameters
 * @property {number} [evaluation] the version of the rules; from 3 on secrets were replaced
 * @property {Date} time
 * @property {ReadonlySet<string>} [limitedPolicyIds] ids of policies that a full limit keeps from matching
 * @property {(policyId: string, condition: number) => import('./conditions.mjs').Truth} [truthOfFact] the truth of a
 *   condition that needs facts
 * @property {Principal | null} [principal] on whose behalf it is
 * @property {Map<Policy, boolean>} [matches] which policies name the agent, the action, the resource and the principal,
 *   if it is evaluated several times for them
 *
 * @typedef {object} Verdict
 * @property {'allow' | 'deny' | 'require_approval'} effect
 * @property {string | null} reason
 * @property {readonly Policy[]} policies those that decided, the oldest first
 * @property {Requirement | null} approval
 * @property {boolean} [isObserved] where no policy allows it, and it is allowed because the agent is observed
 */

/**
 * @param {Agent & { status?: string, capabilities?: readonly string[], observeUntil?: string }} agent without status
 *   and capabilities where nobody has registered it
 * @param {Request} request
 * @param {readonly Policy[]} policies in force, the oldest first
 * @param {string} defaultEffect
 * @param {{ isStopped?: boolean, principal?: Principal | null }} [options] whether a stop covers the request, and on
 *   whose behalf it is
 * @returns {Verdict}
 */
export function evaluate(agent, request, policies, defaultEffect, { isStopped = false, principal = null } = {}) {
  if (agent.status === 'suspended') return denial('agent_suspended');
  if (isStopped) return denial('stopped');
  if (principal?.person?.status === 'suspended') return denial('principal_suspended');
  if (agent.capabilities !== undefined && !isCapable(agent.capabilities, request.action))
    return denial('capability_missing');
  const requestWithPrincipal = { ...request, principal };
  const isLimited = matchingPolicies(agent, { ...requestWithPrincipal, limitedPolicyIds: NONE }, policies).some(
    ({ id }) => request.limitedPolicyIds?.has(id),
  );
  const policyVerdict = verdictOf(
    matchingPolicies(agent, requestWithPrincipal, policies),
    isLimited ? 'limit_reached' : defaultEffect,
  );
  const approval = policyVerdict.approval && withPrincipal(policyVerdict.approval, principal?.person?.id);
  const verdict = { ...policyVerdict, approval };
  const isObserved = agent.observeUntil !== undefined && request.time < new Date(agent.observeUntil);
  if (verdict.reason !== 'no_policy_allows' || !isObserved) return verdict;
  return { effect: 'allow', reason: null, policies: [], approval: null, isObserved };
}

/** @type {ReadonlySet<string>} */
const NONE = new Set();

const BEFORE_POLICIES = ['agent_suspended', 'stopped', 'principal_suspended', 'capability_missing'];

/**
 * True if the request was refused before any policy was consulted.
 * @param {Verdict} verdict
 */
export function isBeforePolicies({ reason }) {
  return reason !== null && BEFORE_POLICIES.includes(reason);
}

/**
 * Checks whether policies let an agent review a decision. Only policies that deny count, and none with conditions or
 * limits, since a review has no parameters.
 * @param {Agent} reviewer
 * @param {Omit<Request, 'parameters'>} review
 * @param {readonly Policy[]} policies in force, the oldest first
 * @returns {Verdict}
 */
export function evaluateReview(reviewer, review, policies) {
  const denyingPolicies = policies.filter(
    ({ effect, conditions = [], limits = [] }) =>
      effect !== 'require_approval' && conditions.length === 0 && limits.length === 0,
  );
  return verdictOf(matchingPolicies(reviewer, { ...review, parameters: {} }, denyingPolicies), 'allow');
}

/**
 * @param {Agent} agent
 * @param {Request} request
 * @param {readonly Policy[]} policies
 */
export function matchingPolicies(agent, request, policies) {
  return policies.filter((policy) => isMatching(policy, agent, request));
}

/**
 * @param {Policy} policy
 * @param {Agent} agent
 * @param {Request} request
 */
function isMatching(policy, agent, request) {
  if (request.limitedPolicyIds?.has(policy.id)) return false;
  const isNamed = request.matches?.get(policy) ?? isNaming(policy, agent, request);
  request.matches?.set(policy, isNamed);
  if (!isNamed) return false;
  const truth = areTrue(policy.conditions ?? [], request, (index) => request.truthOfFact?.(policy.id, index));
  // An absent value must not evade a rule.
  return policy.effect === 'allow' ? truth === true : truth !== false;
}

/**
 * True if a policy names the agent, the action, the resource and the principal of a request.
 * @param {Policy} policy
 * @param {Agent} agent
 * @param {Request} request
 */
function isNaming(policy, agent, request) {
  return (
    policy.actions.some((pattern) => matchesAction(pattern, request.action)) &&
    ((policy.team ?? null) === null || policy.team === agent.team) &&
    policy.subjects.some((pattern) => isMetBy(pattern, agent)) &&
    matchesResource(policy, request) &&
    isOnBehalf(policy, request.principal ?? null)
  );
}

/**
 * @param {readonly Policy[]} matches
 * @param {string} fallback the default effect, or `limit_reached` where a limit kept a policy from matching
 * @returns {Verdict}
 */
function verdictOf(matches, fallback) {
  const highest = matches.reduce((most, { priority }) => Math.max(most, priority), -Infinity);
  const highestMatches = matches.filter(({ priority }) => priority === highest);
  const withEffect = (/** @type {string} */ effect) => highestMatches.filter((policy) => policy.effect === effect);
  const [denying, requiring, allowing] = [withEffect('deny'), withEffect('require_approval'), withEffect('allow')];
  if (denying.length > 0) return denial('policy_denied', denying);
  if (requiring.length > 0) return requirementOf(requiring);
  if (allowing.length > 0 || fallback === 'allow') {
    return { effect: 'allow', reason: null, policies: allowing, approval: null };
  }
  return denial(fallback === 'limit_reached' ? fallback : 'no_policy_allows');
}

/**
 * @param {readonly Policy[]} policies
 * @returns {Verdict}
 */
function requirementOf(policies) {
  const approval = combineRequirements(policies.flatMap((policy) => policy.approval ?? []));
  if (isTooLarge(approval)) return denial('approval_too_large', policies);
  return { effect: 'require_approval', reason: 'approval_required', policies, approval };
}

/**
 * @param {string} reason
 * @param {readonly Policy[]} [policies]
 * @returns {Verdict}
 */
function denial(reason, policies = []) {
  return { effect: 'deny', reason, policies, approval: null };
}
