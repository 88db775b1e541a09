import type { JSX } from 'preact';
import type { LoadState } from '../../api/load.js';
import type { Session } from '../../api/session.js';
import type { Decision } from '../../api/types.js';
import { useNames } from '../../api/use-names.js';
import { revealedProse, showInvisible } from '../../ui/format.js';
import { Json } from '../../ui/json.js';
import { Needs, Panel, When } from '../../ui/parts.js';
import { TimeAgo } from '../../ui/time.js';

/**
 * The body of a change, which is there until the decision is settled; null for anything else, and if the caller may not
 * see it.
 */
export type ChangeBody = { readonly body: unknown } | null;

/** Loads the body of a change that is open. */
export async function loadChangeBody(
  { client, has }: Session,
  { id, type, status }: Decision,
  signal: AbortSignal,
): Promise<ChangeBody> {
  if (type !== 'change' || status !== 'proposed' || !has('review')) return null;
  return client.get('/api/v1/decisions/{id}/change', { path: { id }, signal });
}

interface ChangePanelProps {
  readonly decision: Decision;
  readonly change: NonNullable<Decision['change']>;
  readonly body: LoadState<ChangeBody>;
}

/** A change of the rules, or one that was made in an emergency: the request that makes it, whole. */
export function ChangePanel({ decision, change, body }: ChangePanelProps): JSX.Element {
  const nameOf = useNames();
  const { type, status, description, proposedBy } = decision;
  const isEmergency = type === 'change_review';
  const proposer = proposedBy === null ? 'a key that is bound to nobody' : nameOf(proposedBy);
  return (
    <Panel title="The change">
      <p>
        {isEmergency
          ? 'It was made in an emergency, without a second person. A review puts on record what somebody else thinks of it, and undoes nothing.'
          : 'A second person has to approve it. Then only whoever proposed it can make it, exactly as it is shown here.'}
      </p>
      <dl class="pairs">
        <dt>What it does</dt>
        <dd>{showInvisible(change.summary)}</dd>
        <dt>{isEmergency ? 'Made by' : 'Proposed by'}</dt>
        <dd>{proposer}</dd>
        {description === '' ? null : (
          <>
            <dt>Reason</dt>
            <dd>
              <p class="text">{revealedProse(description)}</p>
            </dd>
          </>
        )}
        <dt>Request</dt>
        <dd>
          <code>{showInvisible(`${change.method} ${change.path}`)}</code>
        </dd>
        {!isEmergency && status === 'proposed' ? (
          <>
            <dt>Body</dt>
            <dd>
              <When load={body} label="the body">
                {(data) =>
                  data === null ? (
                    <Needs scope="review" label="Seeing the body" />
                  ) : (
                    <Json value={data.body} label="Body" />
                  )
                }
              </When>
            </dd>
          </>
        ) : null}
        <dt>Fingerprint</dt>
        <dd>
          <code class="hash">{change.bodyHash}</code>
        </dd>
        <dt>Made</dt>
        <dd>{change.madeAt === undefined ? 'not yet' : <TimeAgo iso={change.madeAt} />}</dd>
      </dl>
    </Panel>
  );
}
