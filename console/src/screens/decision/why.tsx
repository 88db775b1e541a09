import type { JSX } from 'preact';
import { limitTexts } from '../../../../clients/typescript/src/limit-text.js';
import type { LoadState } from '../../api/load.js';
import { useNames } from '../../api/use-names.js';
import type { Decision, Execution } from '../../api/types.js';
import { countText, listText, showInvisible, revealedProse, words } from '../../ui/format.js';
import { Badge, Needs, Panel, When } from '../../ui/parts.js';
import { PolicyName } from '../../ui/policy-name.js';
import { missingText, subjectText } from '../inbox/needs.js';
import { MAX_NEAR, type Rule, type Why } from './case.js';
import { Conditions } from './conditions.js';

interface WhyProps {
  readonly why: LoadState<Why | null>;
  readonly execution: Execution;
}

/** Most deciding policies that the service records. */
const MAX_DECIDING = 10;

/** The policies that required approval, and why none allowed the action without it. */
export function WhyPanel({ why, execution }: WhyProps): JSX.Element {
  return (
    <Panel title="Why it needs approval">
      <When load={why} label="the policies">
        {(data) =>
          data === null ? (
            <Needs scope="read" label="Seeing the policies" />
          ) : (
            <>
              {data.policies.map((policy) => (
                <RuleView key={policy.id} policy={policy} execution={execution} />
              ))}
              {data.policies.length < MAX_DECIDING ? null : (
                <p class="quiet">These are the first {MAX_DECIDING} that required approval. There may be more.</p>
              )}
              <NotAllowed why={data} execution={execution} />
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
  const approvalsText = countText(requiredApprovals, 'approval');
  return (
    <Panel title="Why it needs approval">
      <p>
        {nameOf(proposedBy)} proposed it for people to decide. No policy required that.{' '}
        {approvers === null
          ? `At ${riskLevel} risk, a decision needs ${approvalsText}.`
          : `The proposal names the reviewers and needs ${approvalsText}.`}
      </p>
      <p>If it is approved, that is recorded. The service itself carries nothing out.</p>
    </Panel>
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
        <Conditions rule={policy} request={execution} />
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
                `${countText(approvals, `${signed ? 'signed ' : ''}approval`)} from ${listText(subjects.map(subjectText), 'or')}`,
            ),
            'and',
          )}
          , and rates it {approval.riskLevel} risk.
        </p>
      )}
    </article>
  );
}

interface NotAllowedProps {
  readonly why: Why;
  readonly execution: Execution;
}

/** Policies that matched and lost, and those that nearly matched. */
function NotAllowed({ why: { now }, execution }: NotAllowedProps): JSX.Element | null {
  if (now === null)
    return (
      <p class="quiet">
        What the policies say now is not shown: the request is on behalf of somebody for whom your key may not ask.
      </p>
    );
  const outweighed = now.matched.filter(({ policy, lostTo }) => policy.effect === 'allow' && lostTo !== null);
  const near = now.nearest.slice(0, MAX_NEAR);
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
      {outweighed.length + near.length + limited.length === 0 ? (
        <p>No policy in force allows it without approval.</p>
      ) : null}
      <ul>
        {limited.map((text) => (
          <li key={text}>{showInvisible(text)}</li>
        ))}
        {outweighed.map(({ policy, lostTo }) => (
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
                <Conditions rule={rule} request={execution} />
              </>
            ) : (
              `${missingText(missing)}.`
            )}
          </li>
        ))}
      </ul>
      {now.nearest.length === near.length ? null : (
        <p class="quiet">
          And {countText(now.nearest.length - near.length, 'more policy', 'more policies')} that nearly match.
        </p>
      )}
    </div>
  );
}
