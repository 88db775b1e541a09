import type { JSX } from 'preact';
import { useLoad } from '../../api/load.js';
import { useNames } from '../../api/use-names.js';
import { useSession } from '../../api/session.js';
import type { Execution } from '../../api/types.js';
import { revealedProse } from '../../ui/format.js';
import { grantText } from '../../ui/grant-text.js';
import { ReplacedValues } from '../../ui/replaced-values.js';
import { Json } from '../../ui/json.js';
import { Link } from '../../ui/link.js';
import { Badge, Needs, Panel, When } from '../../ui/parts.js';
import { TimeLeft } from '../../ui/time.js';
import { WithNames } from '../../ui/with-names.js';
import { Story } from '../activity/story.js';
import type { Case } from './case.js';

const SENTENCES: Readonly<Record<Execution['outcome'], string>> = {
  pending_approval: 'It waits for approval.',
  approved: 'It was approved. The agent has not continued yet.',
  authorized: 'The agent continued with the approval and has not reported a result yet.',
  running: 'It is being carried out.',
  executed: 'It was carried out.',
  failed: 'It was tried and failed.',
  denied: 'It was denied.',
  rejected: 'It was rejected. Nothing was done.',
  expired: 'Time ran out. Nothing was done.',
  cancelled: 'It was cancelled. Nothing was done.',
  interrupted: 'It was interrupted. Whether it took effect is unknown.',
};

/** Shows what its approval is good for besides this once. */
function GrantsOfDecision({ decisionId }: { readonly decisionId: string }): JSX.Element {
  const { client } = useSession();
  const grants = useLoad(
    (signal) => client.get('/api/v1/grants', { query: { decisionId }, signal }),
    [client, decisionId],
  );
  return (
    <When load={grants} label="what it gave">
      {({ data }) =>
        data.map((grant) => (
          <p key={grant.id}>
            Its approval gave a <Link to={`grants/${grant.id}`}>grant</Link>: <WithNames text={grantText(grant)} />.
          </p>
        ))
      }
    </When>
  );
}

/** Shows what happened afterwards, with its proof. */
export function Outcome({ subject: { decision, execution } }: { readonly subject: Case }): JSX.Element {
  const nameOf = useNames();
  const { has } = useSession();
  const { failureReason = null, result = null } = execution ?? {};
  return (
    <Panel title="Outcome">
      <p class="outcome" role="status">
        <Badge value={execution?.outcome ?? decision.status} />{' '}
        {execution === null ? `The decision is ${decision.status}.` : SENTENCES[execution.outcome]}
      </p>
      {execution?.outcome === 'approved' && execution.approvedUntil !== null ? (
        <p class="quiet">
          {nameOf(execution.agentId)} may continue: <TimeLeft until={execution.approvedUntil} />.
        </p>
      ) : null}
      {decision.status === 'approved' && decision.grant && has('read', 'review') ? (
        <GrantsOfDecision decisionId={decision.id} />
      ) : null}
      {failureReason === null ? null : <p class="notice bad text">{revealedProse(failureReason)}</p>}
      {result === null ? null : <Json value={result} label="Result" />}
      <ReplacedValues value={result} />
      {has('audit') ? (
        <Story
          subjectIds={execution === null ? [decision.id] : [decision.id, execution.id]}
          version={`${decision.updatedAt} ${execution?.outcome ?? ''}`}
        />
      ) : (
        <Needs scope="audit" label="Seeing the proof" />
      )}
    </Panel>
  );
}
