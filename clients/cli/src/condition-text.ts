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

/** Such as "refunds 1 would change this to allow if its actions matched". */
export function nearText(
  { name, version, effect }: Pick<Schemas['CreatePolicyRequest'], 'name' | 'version' | 'effect'>,
  missing: readonly Part[],
): string {
  const parts = missing.map((part) => POLICY_PARTS[part]).join(' and ');
  return `${name} ${version} would change this to ${effect} if its ${parts} matched`;
}

/** What a policy has in the part that keeps it from matching; of conditions, those that fail. */
export function missingLines(part: Part, rules: Rules, parameters: unknown): string[] {
  if (part === 'conditions') return failingConditions(rules.conditions ?? [], parameters);
  const lists = {
    subject: 'subjects',
    action: 'actions',
    resource: 'resources',
    resourceType: 'resourceTypes',
    onBehalfOf: 'onBehalfOf',
  } as const;
  return [(rules[lists[part]] ?? []).join(', ')];
}

/** Conditions that do not hold, or that only the service can judge, each with the value that it saw. */
function failingConditions(conditions: readonly Condition[], parameters: unknown): string[] {
  return conditions.filter((condition) => !holds(condition, parameters)).map((one) => textOf(one, parameters));
}

/** The parts of a question that conditions see. */
export interface ConditionInput {
  readonly parameters?: Readonly<Record<string, unknown>>;
  readonly run?: string;
}

/** All conditions of a policy that matched, each with the value that it saw: what is unknown lets one match that restricts. */
export function matchedConditions(conditions: readonly Condition[], { parameters, run }: ConditionInput): string[] {
  return conditions.map((condition) => {
    const isUnknown = condition.earlier !== undefined && !condition.within && run === undefined;
    return `${textOf(condition, parameters)}${isUnknown ? ': no run is given (--run), so this is unknown' : ''}`;
  });
}

function textOf(
  { parameter, clock, days, earlier, within, resource, claim, op, value }: Condition,
  parameters: unknown,
): string {
  const wanted = `${op} ${shownJson(value)}`;
  if (earlier !== undefined)
    return `that there was${value === true ? '' : ' no'} ${earlier}${resource === 'same' ? ' on the same resource' : ''} before ${within ? `within ${within}` : 'in the run'}`;
  if (claim !== undefined)
    return `that claims of ${claim} support ${String(parameter)} with at least ${shownJson(value)}: it is ${shownValue(valueAt(parameters, String(parameter)))}`;
  if (parameter === undefined) return `the time in ${String(clock)} ${wanted}${days ? ` on ${days.join(', ')}` : ''}`;
  const found = valueAt(parameters, parameter);
  const other = isReference(value)
    ? `, and ${value.parameter} is ${shownValue(valueAt(parameters, value.parameter))}`
    : '';
  // Of each of several values.
  if (parameter.includes('*')) return `${parameter} ${wanted}${other}`;
  const isUnknown = !isScalar(found) && op !== 'exists';
  return `${parameter} ${wanted}: it is ${shownValue(found)}${isUnknown ? ', so this is unknown' : ''}${other}`;
}

function shownValue(value: unknown): string {
  return value === undefined ? 'missing' : shownJson(value);
}

/** Whether it surely holds. */
function holds({ parameter, op, value }: Condition, parameters: unknown): boolean {
  if (parameter === undefined) return false;
  const found = valueAt(parameters, parameter);
  if (op === 'exists') return !parameter.includes('*') && (found !== undefined) === value;
  const wanted = isReference(value) ? valueAt(parameters, value.parameter) : value;
  if (typeof found === 'number' && typeof wanted === 'number') {
    if (op === 'lt') return found < wanted;
    if (op === 'lte') return found <= wanted;
    if (op === 'gt') return found > wanted;
    if (op === 'gte') return found >= wanted;
  }
  if (!isScalar(found)) return false;
  if (op === 'eq') return found === wanted;
  if (op === 'ne')
    return isScalar(wanted) && found !== wanted && (found === null || wanted === null || isSameType(found, wanted));
  if (op === 'in') return Array.isArray(wanted) && wanted.includes(found);
  if (op === 'not_in')
    return (
      Array.isArray(wanted) &&
      !wanted.includes(found) &&
      (found === null || wanted.some((one) => isSameType(found, one)))
    );
  return op === 'prefix' && typeof found === 'string' && typeof wanted === 'string' && found.startsWith(wanted);
}

function isScalar(value: unknown): boolean {
  return value === null || ['string', 'number', 'boolean'].includes(typeof value);
}

/** Of two scalars; null is of a type of its own. */
function isSameType(one: unknown, other: unknown): boolean {
  return typeof one === typeof other && (one === null) === (other === null);
}

function isReference(value: unknown): value is { readonly parameter: string } {
  return typeof value === 'object' && value !== null && 'parameter' in value && typeof value.parameter === 'string';
}

/** What a JSON Pointer names; undefined if it names nothing, as what a list has besides its items. */
function valueAt(value: unknown, pointer: string): unknown {
  const names = pointer.split('/').slice(1);
  return names.reduce<unknown>((of, name) => {
    const member = name.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof of !== 'object' || of === null || (Array.isArray(of) && member === 'length')) return undefined;
    return Object.hasOwn(of, member) ? Reflect.get(of, member) : undefined;
  }, value);
}
