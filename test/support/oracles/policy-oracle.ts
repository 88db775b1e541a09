import type { PolicyCondition } from '../../../src/governance/policies/conditions';
import type { EvaluationSubject } from '../../../src/governance/policies/patterns/subjects';
import { combinedByRule } from './approval-oracle';
import { listedTypeFault, resourcePatternFault } from '../../../src/governance/policies/patterns/resources';
import type { PolicyRules } from '../../../src/governance/policies/evaluation/compiled-policy';
import type { Evaluation, EvaluationRequest } from '../../../src/governance/policies/evaluation/evaluation';

/** A literal implementation of the rules of policies, regardless of speed, with which the evaluator is compared. */
export function oracle(policies: readonly PolicyRules[], request: EvaluationRequest): Evaluation {
  const matching = policies.filter((policy) => matches(policy, request));
  const highest = Math.max(...matching.map((policy) => policy.priority));
  const counting = matching.filter((policy) => policy.priority === highest);
  for (const effect of ['deny', 'require_approval', 'allow'] as const) {
    const deciding = counting.filter((policy) => policy.effect === effect).sort((a, b) => (a.id < b.id ? -1 : 1));
    if (deciding.length > 0) {
      return {
        effect,
        requirement: effect === 'require_approval' ? combinedByRule(deciding.map(({ approval }) => approval)) : null,
        policies: deciding.slice(0, 10).map(({ id, name, version }) => ({ id, name, version, effect })),
      };
    }
  }
  return { effect: null, policies: [], requirement: null };
}

function matches(policy: PolicyRules, request: EvaluationRequest): boolean {
  const { subject, action, resourceType, resourceId, parameters, isReview } = request;
  return (
    !(isReview === true && (policy.effect === 'require_approval' || policy.conditions.length > 0)) &&
    conditionsLet(policy, parameters) &&
    policy.subjects.some((pattern) => subjectMatches(pattern, subject)) &&
    policy.actions.some((pattern) => actionMatches(pattern, action)) &&
    (policy.resourceTypes.length === 0 ||
      (policy.resourceTypes.includes(resourceType) && listedTypeFault(resourceType) === undefined)) &&
    policy.resources.some((pattern) => resourceMatches(policy, pattern, resourceType, resourceId))
  );
}

function actionMatches(pattern: string, action: string): boolean {
  return pattern.endsWith('*') ? action.startsWith(pattern.slice(0, -1)) : action === pattern;
}

function subjectMatches(pattern: string, subject: EvaluationSubject): boolean {
  const { roles } = subject;
  if (pattern === '*') return true;
  if (pattern === 'role:*') return roles.length > 0;
  if (pattern.startsWith('role:')) return roles.includes(pattern.slice('role:'.length));
  if ('type' in subject) {
    if (!pattern.includes(':') || pattern.startsWith('agent:') || pattern.startsWith('kind:')) return false;
    const id = pattern.endsWith(':*') ? '*' : subject.id;
    return pattern.normalize('NFC') === `${subject.type}:${id}`.normalize('NFC');
  }
  const { agentId, agentName, kind } = subject;
  const isAgent = (name: string): boolean => name === agentId || name.normalize('NFC') === agentName.normalize('NFC');
  if (pattern === 'agent:*' || pattern === `kind:${kind}`) return true;
  if (pattern.startsWith('agent:')) return isAgent(pattern.slice('agent:'.length));
  return !pattern.includes(':') && isAgent(pattern);
}

function resourceMatches(policy: PolicyRules, pattern: string, resourceType: string, resourceId: string): boolean {
  if (resourcePatternFault(pattern) !== undefined) return false;
  const isAllow = policy.effect === 'allow';
  const read = (path: string): string => (isAllow ? path : decoded(path)).normalize('NFC');
  const plain = pattern.replace(/^\//, '');
  const resource = resourceId.replace(/^\//, '');
  if (plain === '*') return true;
  if (!plain.includes('/')) return read(plain) === read(resource);
  const isUrl = resource.includes('://');
  if (isUrl && !plain.includes('://')) return false;
  const countsBehindType =
    !isUrl && (!isAllow || !resource.includes('/') || policy.resourceTypes.includes(resourceType));
  return [resource, ...(countsBehindType ? [`${resourceType}/${resource}`] : [])].some((path) =>
    plain.endsWith('/*') ? read(path).startsWith(`${read(plain.slice(0, -2))}/`) : read(path) === read(plain),
  );
}

/** Decoded repeatedly until nothing changes. */
function decoded(path: string): string {
  const once = path.replace(/(?:%[0-9a-f]{2})+/gi, (escapes) => decodeURIComponent(escapes));
  return once === path ? path : decoded(once);
}

function conditionsLet({ effect, conditions }: PolicyRules, parameters: unknown): boolean {
  const truths = conditions.map((condition) => truthByRule(condition, parameters));
  return effect === 'allow' ? truths.every((truth) => truth === 'true') : !truths.includes('false');
}

/** By the literal reading of the rule. */
function truthByRule({ parameter, op, value }: PolicyCondition, parameters: unknown): string {
  let found = parameters;
  for (const name of parameter
    .slice(1)
    .split('/')
    .map((part) => part.replace('~1', '/').replace('~0', '~'))) {
    const isThere = typeof found === 'object' && found !== null && Object.keys(found).includes(name);
    found = isThere ? (found as Record<string, unknown>)[name] : undefined;
  }
  if (op === 'exists') return String((found !== undefined) === value);
  if (found === undefined || (typeof found === 'object' && found !== null)) return 'unknown';
  if (op === 'eq') return String(found === value);
  if (op === 'ne') return String(found !== value);
  if (op === 'in') return String(value.some((each) => each === found));
  if (op === 'not_in') return String(value.every((each) => each !== found));
  if (op === 'prefix') return typeof found === 'string' ? String(found.startsWith(value)) : 'unknown';
  if (typeof found !== 'number') return 'unknown';
  const order = Math.sign(found - Number(value));
  return String({ lt: order < 0, lte: order <= 0, gt: order > 0, gte: order >= 0 }[op]);
}
