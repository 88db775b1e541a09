import moment from 'moment-timezone';
import type { ClockCondition } from '../../../src/governance/policies/conditions/clock';
import type { PolicyCondition } from '../../../src/governance/policies/conditions/condition';
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
  const { subject, action, resourceType, resourceId, isReview } = request;
  return (
    !(isReview === true && (policy.effect === 'require_approval' || policy.conditions.length > 0)) &&
    conditionsLet(policy, request) &&
    (policy.team === null || ('agentId' in subject && subject.team === policy.team)) &&
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

function conditionsLet({ effect, conditions }: PolicyRules, request: EvaluationRequest): boolean {
  const truths = conditions.map((condition) => {
    if ('clock' in condition) return String(isWithinSpan(condition, request.at));
    return 'earlier' in condition || 'claim' in condition ? 'unknown' : truthByRule(condition, request);
  });
  return effect === 'allow' ? truths.every((truth) => truth === 'true') : !truths.includes('false');
}

const SPANS = new Map<string, boolean>();

function isWithinSpan(condition: ClockCondition, at: string): boolean {
  const key = JSON.stringify([condition, at]);
  const isWithin = SPANS.get(key) ?? findsStart(condition, at);
  SPANS.set(key, isWithin);
  return isWithin;
}

/** Decides by the local time that Moment Timezone computes from the same database. */
function findsStart({ clock, days, except, value: [start, end] }: ClockCondition, at: string): boolean {
  const local = moment.tz(at, clock);
  const time = local.format('HH:mm');
  const [today, yesterday] = [
    local.format('YYYY-MM-DD'),
    local.clone().startOf('day').subtract(1, 'day').format('YYYY-MM-DD'),
  ];
  const isOn = (date: string): boolean =>
    except?.includes(date) !== true &&
    (days?.some((name) => name === moment.utc(date).format('ddd').toLowerCase()) ?? true);
  if (start < end) return isOn(today) && time >= start && time < end;
  return time >= start ? isOn(today) : time < end && isOn(yesterday);
}

function tokensOf(pointer: string): string[] {
  const tokens = pointer.slice(1).split('/');
  return tokens.map((part) => part.replace('~1', '/').replace('~0', '~'));
}

/** Stands for values below a replaced secret or hash, which are unknown. */
const HIDDEN = {};

/** Every value that a pointer names: with a `*` those of each item. */
function valuesAt(tokens: readonly string[], from: unknown): unknown[] {
  const [name, ...rest] = tokens;
  if (name === undefined) return [from];
  if (/^\{"\$secret":"[^"]*"\}$/.test(JSON.stringify(from))) return [HIDDEN];
  if (/^\{"(?=.*"bytes":)(?=.*"\$hmac":)[^,]*,[^,]*\}$/.test(JSON.stringify(from)) && tokens.join() !== 'bytes')
    return tokens.join() === '$hmac' ? [{}] : [HIDDEN];
  if (typeof from !== 'object' || from === null) return [undefined];
  if (name === '*' && Array.isArray(from)) return from.flatMap((item) => valuesAt(rest, item));
  return Object.keys(from).includes(name) ? valuesAt(rest, (from as Record<string, unknown>)[name]) : [undefined];
}

type OnRequest = Exclude<PolicyCondition, { clock: string } | { earlier: string } | { claim: string }>;

/** Decides by the literal reading of the rule. Another spelling of an equal resource is unknown. */
function truthByRule(condition: OnRequest, request: EvaluationRequest): string {
  const { op, value } = condition;
  const truth = spelledTruth(condition, request);
  if (!request.resourceId.includes('%') || truth === String(/^(?:eq|in)$/.test(op))) return truth;
  if (![condition, value].some((part) => JSON.stringify(part).includes('"resource"'))) return truth;
  const decodedTruth = spelledTruth(condition, { ...request, resourceId: decoded(request.resourceId) });
  return decodedTruth === truth ? truth : 'unknown';
}

function spelledTruth(condition: OnRequest, request: EvaluationRequest): string {
  const { op, value } = condition;
  const lefts = operands(condition, request);
  if (op === 'exists' && lefts[0] === HIDDEN) return 'unknown';
  if (op === 'exists') return String((lefts[0] !== undefined) === value);
  const isNamed = typeof value === 'object' && value !== null && !Array.isArray(value);
  const [right] = isNamed ? operands(value as Operand, request) : [value];
  const isReadList = /^(?:within|domain)$/.test(op) && 'parameter' in condition && condition.parameter.includes('/*');
  if (isReadList && lefts.filter((left) => typeof left === 'string').join('').length > 65_536) return 'unknown';
  const isLong = (side: unknown): boolean => isNamed && typeof side === 'string' && side.length > 4_096;
  const truths = lefts.map((left) => (isLong(left) || isLong(right) ? 'unknown' : truthOfValue(left, op, right)));
  const [first = 'unknown'] = truths;
  return truths.every((truth) => truth === first) ? first : 'unknown';
}

type Operand = { parameter: string } | { principal: string } | { resource: string };

function operands(operand: Operand, { parameters, principal = null, resourceId }: EvaluationRequest): unknown[] {
  if ('parameter' in operand) return valuesAt(tokensOf(operand.parameter), parameters);
  if ('resource' in operand) return [resourceId.normalize('NFC').replace(/^.*\//s, '')];
  if (principal === null) return [undefined];
  const [type, id] = 'type' in principal ? [principal.type, principal.id] : ['agent', principal.agentId];
  return [operand.principal === 'id' ? id : type];
}

function truthOfValue(left: unknown, op: string, value: unknown): string {
  const isObject = (each: unknown): boolean => typeof each === 'object' && each !== null;
  if (left === undefined || isObject(left)) return 'unknown';
  if (op === 'in' || op === 'not_in') {
    const values = value as unknown[];
    const hasType = values.some((each) => each !== null && typeof each === typeof left);
    return left === null || hasType ? String(values.includes(left) === (op === 'in')) : 'unknown';
  }
  if (op === 'domain') {
    // The long texts of the tests name no host.
    const host = typeof left === 'string' && left.length < 4_096 ? hostOf(left) : undefined;
    return host === undefined ? 'unknown' : String((value as string[]).some((name) => `.${host}`.endsWith(`.${name}`)));
  }
  if (value === undefined || isObject(value)) return 'unknown';
  if (op === 'eq' || op === 'ne') {
    const isKnown = left === null || value === null || typeof left === typeof value;
    return isKnown ? String((left === value) === (op === 'eq')) : 'unknown';
  }
  if (op === 'prefix' || op === 'within') {
    if (op === 'within' && typeof left === 'string' && left.length > 4_096) return 'unknown';
    if (typeof left !== 'string' || (op === 'within' && /(?:^|\/)(?:\.\.|)(?:\/|$)/.test(left))) return 'unknown';
    const text = typeof value === 'string' ? value : '';
    return String(op === 'prefix' ? left.startsWith(text) : left === text || left.startsWith(`${text}/`));
  }
  if (typeof left !== 'number' || typeof value !== 'number') return 'unknown';
  return String({ lt: left < value, lte: left <= value, gt: left > value, gte: left >= value }[op]);
}

/** The labels of the tests that are not in ASCII, by IDNA. */
const ASCII_LABELS = new Map([
  ['b\u00fccher', 'xn--bcher-kva'],
  ['caf\u00e9', 'xn--caf-dma'],
]);

/** Reads a host by regular expressions, for the few hosts of the tests. */
function hostOf(text: string): string | undefined {
  const [, host] =
    /^https:\/\/([a-z0-9.-]+)(?::8443)?(?:\/(?:[a-z]+(?:\/[a-z]+)*)?)?(?:\?[a-z=]*)?(?:#[a-z]*)?$/.exec(text) ??
    /^[\w.]+@([^@]+)$/.exec(text) ??
    /^([^@:/]*)$/.exec(text) ??
    [];
  const labels = host?.toLowerCase().normalize('NFC').split('.');
  const ascii = labels?.map((label) => ASCII_LABELS.get(label) ?? label).join('.');
  return ascii !== undefined && /^(?:[a-z0-9][a-z0-9-]*\.)*[a-z0-9-]*[a-z][a-z0-9-]*$/.test(ascii) ? ascii : undefined;
}
