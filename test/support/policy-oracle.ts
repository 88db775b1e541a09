import { listedTypeFault, resourcePatternFault } from '../../src/policies/evaluation/resource-pattern';
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
    (policy.resourceTypes.length === 0 ||
      (policy.resourceTypes.includes(resourceType) && listedTypeFault(resourceType) === undefined)) &&
    policy.resources.some((pattern) => resourceMatches(policy, pattern, resourceType, resourceId))
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

function resourceMatches(policy: PolicyRules, pattern: string, resourceType: string, resourceId: string): boolean {
  if (resourcePatternFault(pattern) !== undefined) return false;
  const isAllow = policy.effect === 'allow';
  const read = (path: string): string => (isAllow ? path : decoded(path)).normalize('NFC');
  const plain = pattern.replace(/^\//, '');
  const resource = resourceId.replace(/^\//, '');
  if (plain === '*') return true;
  if (!plain.includes('/')) return read(plain) === read(resource);
  const countsBehindType = !isAllow || !resource.includes('/') || policy.resourceTypes.includes(resourceType);
  return [resource, ...(countsBehindType ? [`${resourceType}/${resource}`] : [])].some((path) =>
    plain.endsWith('/*') ? read(path).startsWith(`${read(plain.slice(0, -2))}/`) : read(path) === read(plain),
  );
}

/** Decoded again and again, as far as that goes. */
function decoded(path: string): string {
  const once = path.replace(/(?:%[0-9a-f]{2})+/gi, (escapes) => decodeURIComponent(escapes));
  return once === path ? path : decoded(once);
}
