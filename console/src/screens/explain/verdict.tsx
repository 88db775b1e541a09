import type { JSX } from 'preact';
import { limitTexts } from '../../../../clients/typescript/src/limit-text.js';
import type { Evaluation } from '../../api/types.js';
import { countText, isoDurationText, listText, showInvisible } from '../../ui/format.js';
import { Link } from '../../ui/link.js';
import { Badge, Panel } from '../../ui/parts.js';
import { PolicyName } from '../../ui/policy-name.js';
import { missingText, subjectText } from '../inbox/needs.js';

const REASONS: Readonly<Record<NonNullable<Evaluation['reason']>, string>> = {
  no_policy_allows: 'No policy in force allows it, and what no policy allows is denied.',
  policy_denied: 'A policy denies it.',
  capability_missing: 'The agent does not have the capability for this action.',
  agent_suspended: 'The agent is suspended.',
  principal_suspended: 'The person on whose behalf it would act is suspended.',
  stopped: 'A stop covers it.',
  approval_required: 'It would wait for approval.',
  limit_reached: 'The limit of a policy is used up, and nothing else allows it.',
  approval_too_large: 'It would need too many approvals, so it is denied.',
  extension_refused: 'The policies would let it through, but an extension of the service refuses it.',
};

/** The answer to a request, with the policies that decided. */
export function Verdict({ answer }: { readonly answer: Evaluation }): JSX.Element {
  const { effect, reason, approval, grantId, observed = false, explanation = null } = answer;
  return (
    <div class="decision after" role="status">
      <Panel title="The answer" aside={<Badge value={effect} />}>
        <p>{reason === null ? 'It would be allowed.' : REASONS[reason]}</p>
        {observed ? <p>No policy allows it: it is let through, and noted, because the agent is observed.</p> : null}
        {explanation === null ? null : limitTexts(explanation).map((text) => <p key={text}>{showInvisible(text)}</p>)}
        {grantId === undefined ? null : (
          <p>
            It was approved before, by a <Link to={`grants/${grantId}`}>grant</Link>.
          </p>
        )}
        {approval === null ? null : (
          <p>
            It needs{' '}
            {listText(
              approval.approvers.map(
                ({ subjects, approvals, signed }) =>
                  `${countText(approvals, `${signed ? 'signed ' : ''}approval`)} from ${listText(subjects.map(subjectText), 'or')}`,
              ),
              'and',
            )}
            , within {isoDurationText(approval.decideWithin)}.
          </p>
        )}
      </Panel>
      <Panel title="Policies that match">
        {explanation === null || explanation.matched.length === 0 ? <p class="quiet">None.</p> : null}
        <ul class="history">
          {explanation?.matched.map(({ policy, decided, lostTo }) => (
            <li key={policy.id}>
              <Badge value={policy.effect} /> <PolicyName policy={policy} />{' '}
              <span class="quiet">
                {decided
                  ? 'decided'
                  : lostTo === 'priority'
                    ? 'lost to a higher priority'
                    : 'lost to a stronger effect'}
              </span>
            </li>
          ))}
        </ul>
      </Panel>
      {explanation === null || explanation.nearest.length === 0 ? null : (
        <Panel title="Policies that nearly match">
          <ul class="history">
            {explanation.nearest.map(({ policy, missing }) => (
              <li key={policy.id}>
                <Badge value={policy.effect} /> <PolicyName policy={policy} />{' '}
                <span class="quiet">only {missingText(missing)}</span>
              </li>
            ))}
          </ul>
        </Panel>
      )}
      {explanation === null ? null : (
        <p class="quiet">{countText(explanation.inForce, 'policy', 'policies')} in force.</p>
      )}
    </div>
  );
}
