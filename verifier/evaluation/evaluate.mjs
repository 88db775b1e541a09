import { matchesAction, isCapable } from './actions.mjs';
import { areTrue } from './conditions.mjs';
import { combined, isTooLarge, withPrincipal } from './requirement.mjs';
import { matchesResource } from './resources.mjs';
import { isOnBehalf } from './principals.mjs';
import { isMetBy } from './subjects.mjs';

/**
 * How policies decide: docs/policies.md. Written from that page alone, apart from the service's own evaluator.
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
 *
 * @typedef {object} Request
 * @property {string} action
 * @property {string} resourceType
 * @property {string} resourceId
 * @property {Readonly<Record<string, unknown>>} parameters
 * @property {Date} time
 * @property {ReadonlySet<string>} [kept] the ids of policies that a limit keeps from matching
 * @property {(policyId: string, condition: number) => import('./conditions.mjs').Truth} [known] of conditions that ask more than the request
 * @property {Principal | null} [principal] on whose behalf it is
 *
 * @typedef {object} Verdict
 * @property {'allow' | 'deny' | 'require_approval'} effect
 * @property {string | null} reason
 * @property {readonly Policy[]} policies those that decided, the oldest first
 * @property {Requirement | null} approval
 * @property {boolean} [isObserved] where no policy allows it, and it is allowed because the agent is observed
 */

/**
 * @param {Agent & { status?: string, capabilities?: readonly string[], observeUntil?: string }} agent without status and
 *   capabilities where nobody has registered it
 * @param {Request} request
 * @param {readonly Policy[]} policies in force, the oldest first
 * @param {string} defaultEffect
 * @param {{ isStopped?: boolean, principal?: Principal | null }} [besides] whether a stop covers it, and for whom it is
 * @returns {Verdict}
 */
export function evaluate(agent, request, policies, defaultEffect, { isStopped = false, principal = null } = {}) {
  if (agent.status === 'suspended') return denied('agent_suspended');
  if (isStopped) return denied('stopped');
  if (principal?.person?.status === 'suspended') return denied('principal_suspended');
  if (agent.capabilities !== undefined && !isCapable(agent.capabilities, request.action))
    return denied('capability_missing');
  const asked = { ...request, principal };
  const isLimited = matching(agent, { ...asked, kept: NONE }, policies).some(({ id }) => request.kept?.has(id));
  const decided = verdictOf(matching(agent, asked, policies), isLimited ? 'limit_reached' : defaultEffect);
  const approval = decided.approval && withPrincipal(decided.approval, principal?.person?.id);
  const verdict = { ...decided, approval };
  const isObserved = agent.observeUntil !== undefined && request.time < new Date(agent.observeUntil);
  if (verdict.reason !== 'no_policy_allows' || !isObserved) return verdict;
  return { effect: 'allow', reason: null, policies: [], approval: null, isObserved };
}

/** @type {ReadonlySet<string>} */
const NONE = new Set();

const BEFORE_POLICIES = ['agent_suspended', 'stopped', 'principal_suspended', 'capability_missing'];

/**
 * Whether it was refused whatever the policies say.
 * @param {Verdict} verdict
 */
export function isBeforePolicies({ reason }) {
  return reason !== null && BEFORE_POLICIES.includes(reason);
}

/**
 * Whether policies let an agent review a decision: only those that deny count, and none with conditions or limits, since a
 * review has no parameters.
 * @param {Agent} reviewer
 * @param {Omit<Request, 'parameters'>} review
 * @param {readonly Policy[]} policies in force, the oldest first
 * @returns {Verdict}
 */
export function evaluateReview(reviewer, review, policies) {
  const counting = policies.filter(
    ({ effect, conditions = [], limits = [] }) =>
      effect !== 'require_approval' && conditions.length === 0 && limits.length === 0,
  );
  return verdictOf(matching(reviewer, { ...review, parameters: {} }, counting), 'allow');
}

/**
 * @param {Agent} agent
 * @param {Request} request
 * @param {readonly Policy[]} policies
 */
export function matching(agent, request, policies) {
  return policies.filter((policy) => isMatching(policy, agent, request));
}

/**
 * @param {Policy} policy
 * @param {Agent} agent
 * @param {Request} request
 */
function isMatching(policy, agent, request) {
  if (request.kept?.has(policy.id)) return false;
  if (!policy.actions.some((pattern) => matchesAction(pattern, request.action))) return false;
  if (!policy.subjects.some((pattern) => isMetBy(pattern, agent))) return false;
  if (!matchesResource(policy, request)) return false;
  if (!isOnBehalf(policy, request.principal ?? null)) return false;
  const truth = areTrue(policy.conditions ?? [], request, (index) => request.known?.(policy.id, index));
  // What is left out must not evade a rule.
  return policy.effect === 'allow' ? truth === true : truth !== false;
}

/**
 * @param {readonly Policy[]} matched
 * @param {string} otherwise the default effect, or `limit_reached` where a limit kept a policy from matching
 * @returns {Verdict}
 */
function verdictOf(matched, otherwise) {
  const highest = matched.reduce((most, { priority }) => Math.max(most, priority), -Infinity);
  const counting = matched.filter(({ priority }) => priority === highest);
  const of = (/** @type {string} */ effect) => counting.filter((policy) => policy.effect === effect);
  const [denying, requiring, allowing] = [of('deny'), of('require_approval'), of('allow')];
  if (denying.length > 0) return denied('policy_denied', denying);
  if (requiring.length > 0) return requirementOf(requiring);
  if (allowing.length > 0 || otherwise === 'allow') {
    return { effect: 'allow', reason: null, policies: allowing, approval: null };
  }
  return denied(otherwise === 'limit_reached' ? otherwise : 'no_policy_allows');
}

/**
 * @param {readonly Policy[]} policies
 * @returns {Verdict}
 */
function requirementOf(policies) {
  const approval = combined(policies.flatMap((policy) => policy.approval ?? []));
  if (isTooLarge(approval)) return denied('approval_too_large', policies);
  return { effect: 'require_approval', reason: 'approval_required', policies, approval };
}

/**
 * @param {string} reason
 * @param {readonly Policy[]} [policies]
 * @returns {Verdict}
 */
function denied(reason, policies = []) {
  return { effect: 'deny', reason, policies, approval: null };
}
