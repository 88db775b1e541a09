import type { JSX } from 'preact';
import { limitTexts } from '../../../../clients/typescript/src/limit-text.js';
import type { Loaded } from '../../api/load.js';
import { useNames } from '../../api/use-names.js';
import type { Decision, Execution } from '../../api/types.js';
import { counted, listText, showInvisible, revealedProse, words } from '../../ui/format.js';
import { jsonText } from '../../ui/json.js';
import { Badge, Needs, Panel, When } from '../../ui/parts.js';
import { PolicyName } from '../../ui/policy-name.js';
import { missingText, subjectText } from '../inbox/needs.js';
import { MOST_NEAR, type Rule, type Why } from './case.js';
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
  between: 'is between',
  supports: 'is supported with at least',
  exists: 'is present:',
};

interface WhyProps {
  readonly why: Loaded<Why | null>;
  readonly execution: Execution;
}

/** Most deciding policies that the service records. */
const MOST_DECIDING = 10;

/** The policies that required approval, and why none allowed the action without it. */
export function WhyPanel({ why, execution }: WhyProps): JSX.Element {
  return (
    <Panel title="Why it needs approval">
      <When of={why} what="the policies">
        {(data) =>
          data === null ? (
            <Needs scope="read" what="Seeing the policies" />
          ) : (
            <>
              {data.policies.map((policy) => (
                <RuleView key={policy.id} policy={policy} execution={execution} />
              ))}
              {data.policies.length < MOST_DECIDING ? null : (
                <p class="quiet">These are the first {MOST_DECIDING} that required approval. There may be more.</p>
              )}
              <NotAllowed why={data} parameters={execution.parameters} />
            </>
          )
        }
      </When>
    </Panel>
  );
}

/** Why people decide although no policy required it. */
export function WhyProposed({ decision }: { readonly decision: Decision }): JSX.Element {
  const nameOf = useNames();
  const { proposedBy, riskLevel, requiredApprovals, approvers } = decision;
  const needed = counted(requiredApprovals, 'approval');
  return (
    <Panel title="Why it needs approval">
      <p>
        {nameOf(proposedBy)} proposed it for people to decide. No policy required that.{' '}
        {approvers === null
          ? `At ${riskLevel} risk, a decision needs ${needed}.`
          : `The proposal names the reviewers and needs ${needed}.`}
      </p>
      <p>If it is approved, that is recorded. The service itself carries nothing out.</p>
    </Panel>
  );
}

interface ConditionsProps {
  readonly of: Rule;
  readonly parameters: Execution['parameters'];
}

interface ConditionProps extends Pick<ConditionsProps, 'parameters'> {
  readonly condition: Rule['conditions'][number];
}

function ConditionView({ condition, parameters }: ConditionProps): JSX.Element {
  const { parameter, clock = '', days, earlier, within, resource, claim, op, value } = condition;
  const when = days ? ` on ${listText(days, 'or')}` : '';
  if (earlier !== undefined)
    return (
      <li>
        {within ? `Within ${within}` : 'In the same run'} there was {value === true ? 'an' : 'no'} earlier{' '}
        <code>{showInvisible(earlier)}</code>
        {resource === 'same' ? ' on the same resource' : ''}
      </li>
    );
  if (parameter === undefined)
    return (
      <li>
        The time in <code>{showInvisible(clock)}</code> {OPERATORS[op] ?? op} <code>{jsonText(value, 0)}</code>
        {when}
      </li>
    );
  if (claim !== undefined)
    return (
      <li>
        <code>{showInvisible(parameter)}</code>, here <code>{shown(valueAt(parameters, parameter))}</code>, is supported
        by claims of <code>{showInvisible(claim)}</code> with a confidence of at least <code>{jsonText(value, 0)}</code>
        , and no other value is as sure
      </li>
    );
  // What a `*` stands for is shown as the list that it is in.
  const [whole = parameter] = parameter.split('/*');
  return (
    <li>
      <code>{showInvisible(parameter)}</code> {OPERATORS[op] ?? op} <Compared to={value} parameters={parameters} />
      {'; here it is '}
      <code>{shown(valueAt(parameters, whole))}</code>
    </li>
  );
}

interface ComparedProps extends Pick<ConditionsProps, 'parameters'> {
  readonly to: unknown;
}

/** What an argument is compared with: a value, or another argument. */
function Compared({ to, parameters }: ComparedProps): JSX.Element {
  const { parameter } = Object(to) as { readonly parameter?: unknown };
  if (typeof parameter !== 'string') return <code>{jsonText(to, 0)}</code>;
  return (
    <>
      <code>{showInvisible(parameter)}</code>, here <code>{shown(valueAt(parameters, parameter))}</code>
    </>
  );
}

function Conditions({ of: { conditions }, parameters }: ConditionsProps): JSX.Element {
  return (
    <ul class="conditions">
      {conditions.map((condition, index) => (
        <ConditionView key={index} condition={condition} parameters={parameters} />
      ))}
    </ul>
  );
}

function RuleView({ policy, execution }: { readonly policy: Rule; readonly execution: Execution }): JSX.Element {
  const { name, version, description, effect, conditions, onBehalfOf, approval } = policy;
  return (
    <article class="rule">
      <h3>
        <Badge value={effect} /> {showInvisible(name)} <small>version {showInvisible(version)}</small>
      </h3>
      {description === '' ? null : <p class="text">{revealedProse(description)}</p>}
      {conditions.length === 0 ? (
        <p class="quiet">It applies to every such action, whatever the arguments.</p>
      ) : (
        <Conditions of={policy} parameters={execution.parameters} />
      )}
      {onBehalfOf === null ? null : (
        <p>It is about what is done on behalf of {listText(onBehalfOf.map(subjectText), 'or')}.</p>
      )}
      {approval === null ? null : (
        <p>
          It requires{' '}
          {listText(
            approval.approvers.map(
              ({ subjects, approvals, signed }) =>
                `${counted(approvals, `${signed ? 'signed ' : ''}approval`)} from ${listText(subjects.map(subjectText), 'or')}`,
            ),
            'and',
          )}
          , and rates it {approval.riskLevel} risk.
        </p>
      )}
    </article>
  );
}

function shown(value: unknown): string {
  return value === undefined ? 'missing' : jsonText(value, 0);
}

interface NotAllowedProps extends Pick<ConditionsProps, 'parameters'> {
  readonly why: Why;
}

/** Policies that matched and lost, and those that nearly matched. */
function NotAllowed({ why: { now }, parameters }: NotAllowedProps): JSX.Element | null {
  if (now === null)
    return (
      <p class="quiet">
        What the policies say now is not shown: the request is on behalf of somebody for whom your key may not ask.
      </p>
    );
  const lost = now.matched.filter(({ policy, lostTo }) => policy.effect === 'allow' && lostTo !== null);
  const near = now.nearest.slice(0, MOST_NEAR);
  const limited = limitTexts(now);
  return (
    <div class="not-allowed">
      <h3>Why it is not allowed without approval</h3>
      {now.effect === 'require_approval' ? null : (
        <p class="notice warn">
          Asked now, the answer would be <strong>{words(now.effect)}</strong>
          {now.reason === null ? '' : ` (${words(now.reason)})`}: policies, limits, grants or stops have changed since.
        </p>
      )}
      {lost.length + near.length + limited.length === 0 ? <p>No policy in force allows it without approval.</p> : null}
      <ul>
        {limited.map((text) => (
          <li key={text}>{showInvisible(text)}</li>
        ))}
        {lost.map(({ policy, lostTo }) => (
          <li key={policy.id}>
            <PolicyName policy={policy} /> would allow it, but{' '}
            {lostTo === 'priority' ? 'a policy of higher priority decides' : 'requiring approval takes precedence'}.
          </li>
        ))}
        {near.map(({ policy, missing, rule }) => (
          <li key={policy.id}>
            <PolicyName policy={policy} /> would allow it, but{' '}
            {rule !== null && missing.includes('conditions') ? (
              <>
                not all of this holds:
                <Conditions of={rule} parameters={parameters} />
              </>
            ) : (
              `${missingText(missing)}.`
            )}
          </li>
        ))}
      </ul>
      {now.nearest.length === near.length ? null : (
        <p class="quiet">
          And {counted(now.nearest.length - near.length, 'more policy', 'more policies')} that nearly match.
        </p>
      )}
    </div>
  );
}
