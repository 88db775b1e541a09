import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { useSession } from '../../api/session.js';
import type { Approver, Approvers, Decision } from '../../api/types.js';
import { revealed } from '../../ui/format.js';
import { Options } from '../../ui/options.js';
import { Needs, Panel, Problem } from '../../ui/parts.js';

interface SettleProps {
  readonly decision: Decision;
  readonly approvers: Approvers | null;
  /** What is not yet on screen: while there is any, nothing is approved. */
  readonly missing: readonly string[];
  /** Asks whether what is on screen still holds, and shows what came instead. */
  readonly isStillSo: () => Promise<boolean>;
  readonly changed: () => void;
  readonly settled: () => void;
}

const WHY: Readonly<Record<string, string>> = {
  proposer: 'You requested it, so others decide.',
  suspended: 'You are suspended.',
  reviewed: 'You have reviewed it. It waits for others.',
  policy_denied: 'A policy forbids you to approve it.',
};

/** Approve or reject: the last thing on the page, after all there is to see. */
export function Settle({ approvers, ...props }: SettleProps): JSX.Element {
  const { me, has } = useSession();
  const able = approvers?.data.filter((approver) => approver.able) ?? [];
  return (
    <Panel title="Your decision" class="settle">
      {!has('review') ? (
        <Needs scope="review" what="Deciding" />
      ) : approvers === null ? (
        <p class="loading">Loading who may decide …</p>
      ) : (
        <Choice {...props} able={able} mine={me.agentId} all={approvers.data} />
      )}
    </Panel>
  );
}

interface ChoiceProps extends Omit<SettleProps, 'approvers'> {
  readonly able: readonly Approver[];
  readonly all: readonly Approver[];
  /** The agent that the key is bound to. */
  readonly mine: string | null;
}

function Choice({ decision, missing, isStillSo, changed, settled, able, all, mine }: ChoiceProps): JSX.Element {
  const { client } = useSession();
  const [comment, setComment] = useState('');
  const [chosen, setChosen] = useState(able[0]?.agentId ?? '');
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const [isOld, setIsOld] = useState(false);
  // Whoever was chosen may have reviewed meanwhile.
  const approverId = mine ?? (able.some(({ agentId }) => agentId === chosen) ? chosen : '');
  const mayApprove = able.some(({ agentId }) => agentId === approverId);
  const own = all.find(({ agentId }) => agentId === mine);
  const isProposer = decision.proposedBy === mine;

  if (mine !== null && !mayApprove && !isProposer) {
    return <p class="notice">{WHY[own?.why ?? ''] ?? 'You are not one of its reviewers. It waits for others.'}</p>;
  }
  const settle = async (verdict: 'approve' | 'reject'): Promise<void> => {
    setBusy(true);
    setError(null);
    setIsOld(false);
    const body = comment.trim() === '' ? { approverId } : { approverId, comment: comment.trim() };
    const path = { id: decision.id };
    try {
      if (verdict === 'approve' && !(await isStillSo())) setIsOld(true);
      else {
        if (verdict === 'approve') await client.post('/api/v1/decisions/{id}/approve', { path, body });
        else await client.post('/api/v1/decisions/{id}/reject', { path, body });
        settled();
      }
    } catch (reason) {
      setError(reason);
    }
    setBusy(false);
    changed();
  };

  return (
    <form onSubmit={(event) => event.preventDefault()}>
      {mine === null ? (
        <label>
          Decide on behalf of{' '}
          <select value={approverId} onChange={(event) => setChosen(event.currentTarget.value)}>
            {approverId === '' ? <option value="">choose one of them</option> : null}
            <Options of={able.map(({ agentId, name }) => [agentId, revealed(name)])} />
          </select>
        </label>
      ) : null}
      <label>
        Comment <small>(optional, kept permanently)</small>
        <textarea
          rows={2}
          maxLength={2000}
          value={comment}
          onInput={(event) => setComment(event.currentTarget.value)}
        />
      </label>
      {error === null ? null : <Problem error={error} />}
      {isOld ? (
        <p class="notice warn" role="alert">
          Something changed while this page was open, and is shown now. Nothing was approved: look at it again first.
        </p>
      ) : null}
      {missing.length === 0 ? null : (
        <p class="notice" role="status">
          You can approve once everything is on screen: {missing.join('; ')}.
        </p>
      )}
      <div class="buttons">
        <button
          type="button"
          class="primary"
          disabled={busy || missing.length > 0 || !mayApprove}
          onClick={() => void settle('approve')}
        >
          Approve
        </button>
        <button type="button" class="danger" disabled={busy || approverId === ''} onClick={() => void settle('reject')}>
          Reject
        </button>
        <span class="help">Recorded {mine === null ? 'as theirs' : 'under your name'}. It cannot be undone.</span>
      </div>
    </form>
  );
}
