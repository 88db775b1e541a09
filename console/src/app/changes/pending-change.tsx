import type { JSX } from 'preact';
import { useLoad } from '../../api/load.js';
import { useSession } from '../../api/session.js';
import type { Decision } from '../../api/types.js';
import { useFeed } from '../../api/use-feed.js';
import { useNames } from '../../api/use-names.js';
import { needsText } from '../../screens/inbox/needs.js';
import { listText, revealedProse, showInvisible } from '../../ui/format.js';
import { Problem } from '../../ui/parts.js';

interface PendingChangeProps {
  /** The decision in the answer to the request. */
  readonly decision: Decision;
  /** Sends the same request again. */
  readonly again: () => void;
}

/** A change that waits for a second person: first for whom it waits, then the button that makes it. */
export function PendingChange({ decision: firstDecision, again }: PendingChangeProps): JSX.Element {
  const { client } = useSession();
  const nameOf = useNames();
  const { id } = firstDecision;
  const load = useLoad(
    (signal) => client.get('/api/v1/decisions/{id}', { path: { id }, query: {}, signal }),
    [client, id],
  );
  useFeed(load.reload, ({ subjectId }) => subjectId === id);
  const decision = load.data ?? firstDecision;
  const { status, reviews, change } = decision;
  const names = reviews.flatMap(({ approverId }) => (approverId === null ? [] : nameOf(approverId)));
  const comment = reviews.find(({ verdict }) => verdict === 'reject')?.comment ?? null;
  const isMade = change?.madeAt !== undefined;
  return (
    <div class={`notice ${status === 'proposed' || status === 'approved' ? 'good' : 'warn'}`} role="status">
      <strong>{showInvisible(change?.summary ?? '')}</strong>
      {isMade ? (
        <p>It is made.</p>
      ) : status === 'proposed' ? (
        <p>
          Proposed as <code>{id}</code>. Nothing has changed yet: it {needsText(decision)}. Stay here to make it once it
          is approved, or send the same again later.
        </p>
      ) : status === 'approved' ? (
        <p>Approved by {listText(names, 'and')}. Nothing has changed yet.</p>
      ) : (
        <p>It is {status}, and nothing has changed.</p>
      )}
      {comment === null ? null : <q class="text">{revealedProse(comment)}</q>}
      {load.error === null ? null : <Problem error={load.error} retry={load.reload} />}
      {status === 'approved' && !isMade ? (
        <button type="button" class="primary" onClick={again}>
          Make the change
        </button>
      ) : null}
    </div>
  );
}
