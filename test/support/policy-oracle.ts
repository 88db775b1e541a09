import type { PolicyRules } from '../../src/policies/evaluation/compiled-policy';
import type { Evaluation, EvaluationRequest } from '../../src/policies/evaluation/evaluation-request';

/** The rules of policies as they are written down, without a thought for speed: what the evaluator is compared with. */
export function oracle(policies: readonly PolicyRules[], request: EvaluationRequest): Evaluation {
  const matching = policies.filter((policy) => matches(policy, request));
  const highest = Math.max(...matching.map((policy) => policy.priority));
  const counting = matching.filter((policy) => policy.priority === highest);
  for (const effect of ['deny', 'require_approval', 'allow'] as const) {
    const deciding = counting.filter((policy) => policy.effect === effect).sort((a, b) => (a.id < b.id ? -1 : 1));
    if (deciding.length > 0) {
      return {
        effect,
        policies: deciding.slice(0, 10).map(({ id, name, version }) => ({ id, name, version, effect })),
      };
    }
  }
  return { effect: null, policies: [] };
}

function matches(policy: PolicyRules, { subject, action, resourceType, resourceId }: EvaluationRequest): boolean {
  return (
    policy.subjects.some((pattern) => subjectMatches(pattern, subject)) &&
    policy.actions.some((pattern) => pattern === '*' || pattern === action) &&
    (policy.resourceTypes.length === 0 || policy.resourceTypes.includes(resourceType)) &&
    policy.resources.some((pattern) => resourceMatches(pattern, resourceType, resourceId))
  );
}

function subjectMatches(pattern: string, { agentId, agentName, roles }: EvaluationRequest['subject']): boolean {
  const isAgent = (name: string): boolean => name === agentId || name.normalize('NFC') === agentName.normalize('NFC');
  if (pattern === '*' || pattern === 'agent:*') return true;
  if (pattern === 'role:*') return roles.length > 0;
  if (pattern.startsWith('role:')) return roles.includes(pattern.slice('role:'.length));
  if (pattern.startsWith('agent:')) return isAgent(pattern.slice('agent:'.length));
  if (pattern.includes(':')) return false;
  return isAgent(pattern);
}

function resourceMatches(pattern: string, resourceType: string, resourceId: string): boolean {
  const plain = pattern.replace(/^\//, '');
  const resource = resourceId.replace(/^\//, '');
  if (plain === '*') return true;
  if (!plain.includes('/')) return plain === resource;
  return [resource, `${resourceType}/${resource}`].some((path) =>
    plain.endsWith('/*') ? path.startsWith(plain.slice(0, -1)) : path === plain,
  );
}
