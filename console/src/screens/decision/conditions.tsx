import type { JSX } from 'preact';
import type { Execution } from '../../api/types.js';
import { listText, showInvisible } from '../../ui/format.js';
import { jsonText } from '../../ui/json.js';
import type { Rule } from './case.js';
import { valueAt } from './pointer.js';

const OPERATORS: Readonly<Record<string, string>> = {
  eq: 'is',
  ne: 'is not',
  in: 'is one of',
  not_in: 'is not one of',
  lt: 'is less than',
  lte: 'is at most',
  gt: 'is more than',
  gte: 'is at least',
  prefix: 'begins with',
  within: 'is or lies below',
  domain: 'names a host that is or lies below one of',
  between: 'is between',
  supports: 'is supported with at least',
  exists: 'is present:',
};

/** The parts of a request that conditions look at. */
type ConditionInput = Pick<Execution, 'parameters' | 'resourceId' | 'onBehalfOf'>;
type Condition = Rule['conditions'][number];
/** A part of a request: a parameter, or a part of the principal or the resource. */
type Reference = Pick<Condition, 'parameter' | 'principal' | 'resource'>;

interface ConditionsProps {
  readonly rule: Rule;
  readonly request: ConditionInput;
}

/** The conditions of a policy, each with the value that it sees in a request. */
export function Conditions({ rule: { conditions }, request }: ConditionsProps): JSX.Element {
  return (
    <ul class="conditions">
      {conditions.map((condition, index) => (
        <ConditionView key={index} condition={condition} request={request} />
      ))}
    </ul>
  );
}

interface ConditionProps {
  readonly condition: Condition;
  readonly request: ConditionInput;
}

function ConditionView({ condition, request }: ConditionProps): JSX.Element {
  const { parameter = '', clock, days, except, earlier, within, resource, claim, op, value } = condition;
  if (earlier !== undefined)
    return (
      <li>
        {within ? `Within ${within}` : 'In the same run'} there was {value === true ? 'an' : 'no'} earlier{' '}
        <code>{showInvisible(earlier)}</code>
        {resource === 'same' ? ' on the same resource' : ''}
      </li>
    );
  if (clock !== undefined)
    return (
      <li>
        The time in <code>{showInvisible(clock)}</code> {OPERATORS[op] ?? op} <code>{jsonText(value, 0)}</code>
        {days ? ` on ${listText(days, 'or')}` : ''}
        {except ? `, except ${listText(except, 'and')}` : ''}
      </li>
    );
  if (claim !== undefined)
    return (
      <li>
        <code>{showInvisible(parameter)}</code>, here <code>{valueText(valueAt(request.parameters, parameter))}</code>,
        is supported by claims of <code>{showInvisible(claim)}</code> with a confidence of at least{' '}
        <code>{jsonText(value, 0)}</code>, and no other value is as sure
      </li>
    );
  return (
    <li>
      <ReferenceName reference={condition} /> {OPERATORS[op] ?? op} <Compared to={value} request={request} />
      {'; here it is '}
      <code>{seenText(condition, request)}</code>
    </li>
  );
}

function ReferenceName({ reference: { parameter, principal } }: { readonly reference: Reference }): JSX.Element {
  if (parameter !== undefined) return <code>{showInvisible(parameter)}</code>;
  return <>{principal === undefined ? 'The last segment of the resource' : `The ${principal} of the principal`}</>;
}

interface ComparedProps {
  readonly to: unknown;
  readonly request: ConditionInput;
}

/** Shows what a part of a request is compared with: a value, or another part. */
function Compared({ to, request }: ComparedProps): JSX.Element {
  if (typeof to !== 'object' || to === null || Array.isArray(to)) return <code>{jsonText(to, 0)}</code>;
  return (
    <>
      <ReferenceName reference={to} />, here <code>{seenText(to, request)}</code>
    </>
  );
}

function seenText({ parameter, principal }: Reference, { parameters, resourceId, onBehalfOf }: ConditionInput): string {
  // A `*` is shown as the whole list that it stands for.
  if (parameter !== undefined) return valueText(valueAt(parameters, parameter.split('/*')[0] ?? parameter));
  if (principal === undefined) return valueText(resourceId.split('/').at(-1)?.normalize('NFC'));
  const [type, id] = onBehalfOf?.subject.split(/:(.*)/s) ?? [];
  return valueText(principal === 'id' ? id : type);
}

function valueText(value: unknown): string {
  return value === undefined ? 'missing' : jsonText(value, 0);
}
