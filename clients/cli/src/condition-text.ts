import { shownJson } from './output.js';
import type { Schemas } from '../../typescript/src/index.js';
import { POLICY_PARTS } from '../../typescript/src/policy-parts.js';

type Condition = Schemas['ConditionResponse'];
type Part = Schemas['PolicyPart'];
type Rules = Partial<
  Pick<
    Schemas['CreatePolicyRequest'],
    'subjects' | 'actions' | 'resources' | 'resourceTypes' | 'conditions' | 'onBehalfOf'
  >
>;

/** Returns a sentence, for example "refunds 1 would change this to allow if its actions matched". */
export function nearText(
  { name, version, effect }: Pick<Schemas['CreatePolicyRequest'], 'name' | 'version' | 'effect'>,
  missing: readonly Part[],
): string {
  const parts = missing.map((part) => POLICY_PARTS[part]).join(' and ');
  return `${name} ${version} would change this to ${effect} if its ${parts} matched`;
}

/** Returns the contents of the part that keeps a policy from matching; of conditions, those that fail. */
export function missingLines(part: Part, rules: Rules, input: ConditionInput): string[] {
  if (part === 'conditions') return failingConditions(rules.conditions ?? [], input);
  const lists = {
    subject: 'subjects',
    action: 'actions',
    resource: 'resources',
    resourceType: 'resourceTypes',
    onBehalfOf: 'onBehalfOf',
  } as const;
  return [(rules[lists[part]] ?? []).join(', ')];
}

/** Returns the conditions that fail, or that only the service can evaluate, each with the value that it saw. */
function failingConditions(conditions: readonly Condition[], input: ConditionInput): string[] {
  return conditions
    .filter((condition) => !holds(condition, input.parameters))
    .map((condition) => textOf(condition, input));
}

/** The parts of a request that conditions read. */
export interface ConditionInput {
  readonly parameters?: Readonly<Record<string, unknown>>;
  readonly run?: string;
  readonly resourceId?: string;
  readonly onBehalfOf?: { readonly subject: string };
}

/**
 * Returns all conditions of a policy that matched, each with its value: an unknown value lets a restricting policy
 * match.
 */
export function matchedConditions(conditions: readonly Condition[], input: ConditionInput): string[] {
  return conditions.map((condition) => {
    const isUnknown = condition.earlier !== undefined && !condition.within && input.run === undefined;
    return `${textOf(condition, input)}${isUnknown ? ': no run is given (--run), so this is unknown' : ''}`;
  });
}

function textOf(condition: Condition, input: ConditionInput): string {
  const { parameter, clock, days, except, earlier, within, resource, claim, op, value } = condition;
  const { parameters } = input;
  const expectation = `${op} ${shownJson(value)}`;
  if (earlier !== undefined)
    return `that there was${value === true ? '' : ' no'} ${earlier}${resource === 'same' ? ' on the same resource' : ''} before ${within ? `within ${within}` : 'in the run'}`;
  if (claim !== undefined)
    return `that claims of ${claim} support ${String(parameter)} with at least ${shownJson(value)}: it is ${shownValue(valueAt(parameters, String(parameter)))}`;
  if (clock !== undefined) {
    const when = `${days ? ` on ${days.join(', ')}` : ''}${except ? ` except ${except.join(', ')}` : ''}`;
    return `the time in ${clock} ${expectation}${when}`;
  }
  const comparedText = isReference(value) ? `, and ${referenceName(value)} is ${seenText(value, input)}` : '';
  const name = referenceName(condition);
  // The parameter names several values, and the condition covers each.
  if (parameter?.includes('*') === true) return `${name} ${expectation}${comparedText}`;
  const isUnknown = parameter !== undefined && !isScalar(valueAt(parameters, parameter)) && op !== 'exists';
  return `${name} ${expectation}: it is ${seenText(condition, input)}${isUnknown ? ', so this is unknown' : ''}${comparedText}`;
}

/** A part of a request. */
type Reference = Pick<Condition, 'parameter' | 'principal' | 'resource'>;

function referenceName({ parameter, principal }: Reference): string {
  if (parameter !== undefined) return parameter;
  return principal === undefined ? 'the last segment of the resource' : `the ${principal} of the principal`;
}

/** Returns the value that the service sees in a request; only the service knows the id of a registered person. */
function seenText({ parameter, principal }: Reference, { parameters, resourceId, onBehalfOf }: ConditionInput): string {
  if (parameter !== undefined) return shownValue(valueAt(parameters, parameter));
  if (principal === undefined) return shownValue(resourceId?.split('/').at(-1)?.normalize('NFC'));
  if (onBehalfOf === undefined) return 'missing';
  const [type = '', id = ''] = onBehalfOf.subject.normalize('NFC').split(/:(.*)/s);
  if (principal === 'type') return shownJson(type);
  return type === 'agent' ? `that of ${shownJson(id)}` : shownJson(id);
}

function shownValue(value: unknown): string {
  return value === undefined ? 'missing' : shownJson(value);
}

/** True if the condition is certainly true. */
function holds({ parameter, op, value }: Condition, parameters: unknown): boolean {
  if (parameter === undefined) return false;
  const parameterValue = valueAt(parameters, parameter);
  if (op === 'exists') return !parameter.includes('*') && (parameterValue !== undefined) === value;
  if (op === 'domain' || (isReference(value) && value.parameter === undefined)) return false;
  const expectedValue = isReference(value) ? valueAt(parameters, String(value.parameter)) : value;
  if (typeof parameterValue === 'number' && typeof expectedValue === 'number') {
    if (op === 'lt') return parameterValue < expectedValue;
    if (op === 'lte') return parameterValue <= expectedValue;
    if (op === 'gt') return parameterValue > expectedValue;
    if (op === 'gte') return parameterValue >= expectedValue;
  }
  if (!isScalar(parameterValue)) return false;
  if (op === 'eq') return parameterValue === expectedValue;
  if (op === 'ne')
    return (
      isScalar(expectedValue) &&
      parameterValue !== expectedValue &&
      (parameterValue === null || expectedValue === null || isSameType(parameterValue, expectedValue))
    );
  if (op === 'in') return Array.isArray(expectedValue) && expectedValue.includes(parameterValue);
  if (op === 'not_in')
    return (
      Array.isArray(expectedValue) &&
      !expectedValue.includes(parameterValue) &&
      (parameterValue === null || expectedValue.some((item) => isSameType(parameterValue, item)))
    );
  return (
    op === 'prefix' &&
    typeof parameterValue === 'string' &&
    typeof expectedValue === 'string' &&
    parameterValue.startsWith(expectedValue)
  );
}

function isScalar(value: unknown): boolean {
  return value === null || ['string', 'number', 'boolean'].includes(typeof value);
}

/** True if two scalars have the same type; null is a type of its own. */
function isSameType(left: unknown, right: unknown): boolean {
  return typeof left === typeof right && (left === null) === (right === null);
}

function isReference(value: unknown): value is Reference {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns the value that a JSON Pointer names; undefined if there is none, for example for the length of a list. */
function valueAt(value: unknown, pointer: string): unknown {
  const names = pointer.split('/').slice(1);
  return names.reduce<unknown>((current, name) => {
    const member = name.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof current !== 'object' || current === null || (Array.isArray(current) && member === 'length'))
      return undefined;
    return Object.hasOwn(current, member) ? Reflect.get(current, member) : undefined;
  }, value);
}
