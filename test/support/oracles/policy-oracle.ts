import moment from 'moment-timezone';
import type { ClockCondition } from '../../../src/governance/policies/conditions/clock';
import { isOnParameter, type ParameterCondition } from '../../../src/governance/policies/conditions/condition';
import type { EvaluationSubject } from '../../../src/governance/policies/patterns/subjects';
import { combinedByRule } from './approval-oracle';
import { listedTypeFault, resourcePatternFault } from '../../../src/governance/policies/patterns/resources';
import type { PolicyRules } from '../../../src/governance/policies/evaluation/compiled-policy';
import type { Evaluation, EvaluationRequest } from '../../../src/governance/policies/evaluation/evaluation';

/** A literal implementation of the rules of policies, regardless of speed, with which the evaluator is compared. */
export function oracle(policies: readonly PolicyRules[], request: EvaluationRequest): Evaluation {
  const matching = policies.filter((policy) => matches(policy, request));
  const highest = Math.max(...matching.map((policy) => policy.priority));
  const isClocked = policies.some(
    (policy) =>
      policy.priority >= highest &&
      policy.conditions.some((condition) => 'clock' in condition) &&
      matches({ ...policy, conditions: [] }, request),
  );
  const zones = isClocked && request.isReview !== true ? { zones: moment.tz.dataVersion } : {};
  const counting = matching.filter((policy) => policy.priority === highest);
  for (const effect of ['deny', 'require_approval', 'allow'] as const) {
    const deciding = counting.filter((policy) => policy.effect === effect).sort((a, b) => (a.id < b.id ? -1 : 1));
    if (deciding.length > 0) {
      return {
        effect,
        requirement: effect === 'require_approval' ? combinedByRule(deciding.map(({ approval }) => approval)) : null,
        policies: deciding.slice(0, 10).map(({ id, name, version }) => ({ id, name, version, effect })),
        ...zones,
      };
    }
  }
  return { effect: null, policies: [], requirement: null, ...zones };
}

function matches(policy: PolicyRules, request: EvaluationRequest): boolean {
  const { subject, action, resourceType, resourceId, parameters, at, isReview } = request;
  return (
    !(isReview === true && (policy.effect === 'require_approval' || policy.conditions.length > 0)) &&
    conditionsLet(policy, parameters, at) &&
    policy.subjects.some((pattern) => subjectMatches(pattern, subject)) &&
    principalLets(policy, request.principal ?? null) &&
    policy.actions.some((pattern) => actionMatches(pattern, action)) &&
    (policy.resourceTypes.length === 0 ||
      (policy.resourceTypes.includes(resourceType) && listedTypeFault(resourceType) === undefined)) &&
    policy.resources.some((pattern) => resourceMatches(policy, pattern, resourceType, resourceId))
  );
}

function principalLets({ effect, onBehalfOf }: PolicyRules, principal: EvaluationSubject | null): boolean {
  if (onBehalfOf.length === 0) return true;
  if (principal === null) return effect !== 'allow';
  return onBehalfOf.some((pattern) => subjectMatches(pattern, principal));
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

function conditionsLet({ effect, conditions }: PolicyRules, parameters: unknown, at: string): boolean {
  const truths = conditions.map((condition) =>
    isOnParameter(condition)
      ? truthByRule(condition, parameters)
      : condition.op === 'between'
        ? String(isWithinSpan(condition, at))
        : 'unknown',
  );
  return effect === 'allow' ? truths.every((truth) => truth === 'true') : !truths.includes('false');
}

const SPANS = new Map<string, boolean>();

function isWithinSpan(condition: ClockCondition, at: string): boolean {
  const key = JSON.stringify([condition, at]);
  const known = SPANS.get(key) ?? findsStart(condition, at);
  SPANS.set(key, known);
  return known;
}

/** By the local time that Moment Timezone computes from the same database. */
function findsStart({ clock, days, value: [start, end] }: ClockCondition, at: string): boolean {
  const local = moment.tz(at, clock);
  const [time, day] = [local.format('HH:mm'), local.day()];
  const isOn = (weekday: number): boolean =>
    days?.some((name) => name === moment.weekdaysShort(weekday).toLowerCase()) ?? true;
  if (start < end) return isOn(day) && time >= start && time < end;
  return time >= start ? isOn(day) : time < end && isOn((day + 6) % 7);
}

function tokensOf(pointer: string): string[] {
  const tokens = pointer.slice(1).split('/');
  return tokens.map((part) => part.replace('~1', '/').replace('~0', '~'));
}

/** Every value that a pointer names: with a `*` those of each item. */
function valuesAt(tokens: readonly string[], from: unknown): unknown[] {
  const [name, ...rest] = tokens;
  if (name === undefined) return [from];
  if (typeof from !== 'object' || from === null) return [undefined];
  if (name === '*' && Array.isArray(from)) return from.flatMap((item) => valuesAt(rest, item));
  return Object.keys(from).includes(name) ? valuesAt(rest, (from as Record<string, unknown>)[name]) : [undefined];
}

/** By the literal reading of the rule. */
function truthByRule({ parameter, op, value }: ParameterCondition, parameters: unknown): string {
  if (op === 'exists') return String((valuesAt(tokensOf(parameter), parameters)[0] !== undefined) === value);
  const isNamed = typeof value === 'object' && value !== null && 'parameter' in value;
  const [right] = isNamed ? valuesAt(tokensOf(value.parameter), parameters) : [value];
  const truths = valuesAt(tokensOf(parameter), parameters).map((found) => truthOfValue(found, op, right));
  const [first = 'unknown'] = truths;
  return truths.every((truth) => truth === first) ? first : 'unknown';
}

function truthOfValue(found: unknown, op: string, value: unknown): string {
  const isObject = (each: unknown): boolean => typeof each === 'object' && each !== null;
  if (found === undefined || isObject(found)) return 'unknown';
  if (op === 'in' || op === 'not_in') {
    const values = value as unknown[];
    const hasType = values.some((each) => each !== null && typeof each === typeof found);
    return found === null || hasType ? String(values.includes(found) === (op === 'in')) : 'unknown';
  }
  if (value === undefined || isObject(value)) return 'unknown';
  if (op === 'eq' || op === 'ne') {
    const isKnown = found === null || value === null || typeof found === typeof value;
    return isKnown ? String((found === value) === (op === 'eq')) : 'unknown';
  }
  if (op === 'prefix' || op === 'within') {
    if (typeof found !== 'string' || (op === 'within' && /(?:^|\/)(?:\.\.|)(?:\/|$)/.test(found))) return 'unknown';
    const text = typeof value === 'string' ? value : '';
    return String(op === 'prefix' ? found.startsWith(text) : found === text || found.startsWith(`${text}/`));
  }
  if (typeof found !== 'number' || typeof value !== 'number') return 'unknown';
  return String({ lt: found < value, lte: found <= value, gt: found > value, gte: found >= value }[op]);
}
