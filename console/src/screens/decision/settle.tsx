import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { useLoad } from '../../api/load.js';
import { useSession } from '../../api/session.js';
import { useNames } from '../../api/use-names.js';
import { type Approvers, type Decision, GovernanceError } from '../../api/types.js';
import { argumentsIn } from '../../api/typed-json.js';
import { countText, isoDurationText, showInvisible, revealedJson } from '../../ui/format.js';
import { Link } from '../../ui/link.js';
import { Options } from '../../ui/options.js';
import { Needs, Panel, Problem } from '../../ui/parts.js';
import { LocalTime, TimeLeft } from '../../ui/time.js';
import { useComment } from './comment.js';
import type { Check } from './confirm.js';
import { type GrantTerms, GrantFields } from './grant-fields.js';
import { type Refusal, refusalFor, RefusalNotice, scrutinyAfter, useLook } from './refusal.js';

interface SettleProps {
  readonly decision: Decision;
  /** Parameters of the execution; null if there is none. */
  readonly parameters: Readonly<Record<string, unknown>> | null;
  readonly approvers: Approvers | null;
  /** Content that is not yet visible: as long as there is any, approving is disabled. */
  readonly missing: readonly string[];
  /** Loads again what is on screen, shows what is different, and returns that. */
  readonly differences: Check;
  readonly changed: () => void;
  readonly settled: (decision: Decision) => void;
}

/** Milliseconds for which the service may be too busy to record an approval. */
const PATIENCE = 120_000;

/** Why the caller cannot approve, although they may reject. */
const WHY: Readonly<Record<string, string>> = {
  proposer: 'You requested it, so others decide.',
  // It cannot be the caller: a suspended agent is signed out.
  suspended: 'The agent that requested it is suspended, so nobody can approve it now.',
  no_passkey: 'It has to be signed, and you have no passkey yet.',
  policy_denied: 'A policy forbids you to approve it.',
  unbound: 'People approve it, each with a key of their own.',
};

const STEPS: Readonly<Record<NonNullable<Step>, string>> = {
  checking: 'Checking that everything is still as it is shown …',
  signing: 'Confirm it on your device …',
  sending: 'Sending it …',
};

/** Approve or reject: at the end of the page, after everything there is to see. */
export function Settle({ approvers, ...props }: SettleProps): JSX.Element {
  const { has } = useSession();
  return (
    <Panel title="Your decision" class="settle">
      {!has('review') ? (
        <Needs scope="review" label="Deciding" />
      ) : approvers === null ? (
        <p class="loading">Loading who may decide …</p>
      ) : (
        <Choice {...props} approvers={approvers} />
      )}
    </Panel>
  );
}

function NoReviewer({ agentId }: { readonly agentId: string }): JSX.Element {
  const { client, has } = useSession();
  const own = useLoad(
    async (signal) =>
      has('read') ? client.get('/api/v1/agents/{id}', { path: { id: agentId }, query: {}, signal }) : null,
    [client, agentId],
  );
  return (
    <p class="notice">
      You are not one of its reviewers. It waits for others.
      {own.data?.kind === 'machine' ? ' Roles mean people here: machines never count, unless a policy names them.' : ''}
    </p>
  );
}

interface ChoiceProps extends SettleProps {
  readonly approvers: Approvers;
}

type Step = 'checking' | 'signing' | 'sending' | null;

interface ReviewBody {
  readonly approverId: string;
  readonly comment?: string;
  readonly grant?: GrantTerms;
  readonly signature?: Record<string, unknown>;
  readonly delegationId?: string;
}

function Choice({ decision, parameters, approvers, missing, differences, changed, settled }: ChoiceProps): JSX.Element {
  const { me, client, patientClient, promptClient } = useSession();
  const { agentId: mine } = me;
  const nameOf = useNames();
  const [comment, setComment, dropComment] = useComment(decision);
  const [chosen, setChosen] = useState(() => approvers.data.find(({ able: isAble }) => isAble)?.agentId ?? '');
  /** The delegation by which the caller takes the place of another person; empty for their own place. */
  const [chosenPlace, setChosenPlace] = useState('');
  /** The grant that is given with the approval; null if it is for this once. */
  const [grant, setGrant] = useState<GrantTerms | null>(null);
  /** Parameters that would be approved instead, as JSON; null if the reviewer names none. */
  const [instead, setInstead] = useState<string | null>(null);
  const [step, setStep] = useState<Step>(null);
  const [error, setError] = useState<unknown>(null);
  /** True after Approve of a risky request was pressed, which has to be confirmed. */
  const [isConfirming, setIsConfirming] = useState(false);
  const [refusal, setRefusal] = useState<Refusal | null>(null);
  /** The approvers whose reviews were recorded here: the list may be older. */
  const [recordedIds, setRecorded] = useState<readonly string[]>([]);
  // Delegations are for the person who has them: nobody chooses them for another.
  const listed = approvers.data.filter((approver) => approver.for === undefined || approver.agentId === mine);
  /** Nobody approves a change of the rules for another. */
  const isForPeople = mine === null && decision.change !== undefined;
  const able = listed.filter((approver) => approver.able && !isForPeople && !recordedIds.includes(approver.agentId));
  // The chosen reviewer may have reviewed in the meantime.
  const approverId = mine ?? (able.some(({ agentId }) => agentId === chosen) ? chosen : '');
  const places = able.filter(({ agentId }) => agentId === approverId);
  const chosenOne = places.find(({ delegationId }) => (delegationId ?? '') === chosenPlace) ?? places[0];
  const place = chosenOne?.delegationId === undefined ? {} : { delegationId: chosenOne.delegationId };
  const mayApprove = chosenOne !== undefined;
  const own = chosenOne ?? listed.find(({ agentId }) => agentId === mine);
  /** True if a group that the reviewer fills needs a signature. */
  const isSigned =
    decision.approvers?.some(({ signed }, index) => signed && chosenOne?.groups.includes(index)) === true;
  const isRisky = decision.riskLevel === 'high' || decision.riskLevel === 'critical';
  const isLooking = useLook(refusal);
  const isHeldUp = isLooking || missing.length > 0 || !mayApprove || instead !== null;
  const isOpen = useRef(true);
  useEffect(() => () => void (isOpen.current = false), []);

  if (mine !== null && (own?.why === 'reviewed' || recordedIds.includes(mine)))
    return <p class="notice">You have reviewed it. It waits for others.</p>;
  if (mine !== null && own === undefined && decision.proposedBy !== mine) return <NoReviewer agentId={mine} />;

  const review = async (verdict: 'approve' | 'reject'): Promise<Decision | null> => {
    const body = comment.trim() === '' ? {} : { comment: comment.trim() };
    const path = { id: decision.id };
    if (verdict === 'reject') {
      const by = approverId === '' ? {} : { approverId };
      const rejection = { ...by, ...body, ...insteadOf(), ...place };
      return patientClient.post('/api/v1/decisions/{id}/reject', { path, body: rejection });
    }
    return approve({ approverId, ...body, ...(grant !== null && { grant }), ...place });
  };
  const insteadOf = (): { instead?: { parameters: Record<string, unknown> } } =>
    instead === null ? {} : { instead: { parameters: argumentsIn(instead) } };
  /** A busy service may record it only later: before each attempt, everything has to be as it is shown. */
  const approve = async (body: ReviewBody): Promise<Decision | null> => {
    const end = Date.now() + PATIENCE;
    /** Made once, because it stays valid for this approval. Null if the reviewer has no passkey. */
    let signature: Record<string, unknown> | null | undefined;
    for (;;) {
      setStep('checking');
      const changes = await differences(scrutinyAfter(refusal));
      if (changes.length > 0) {
        setRefusal(refusalFor(changes, refusal));
        return null;
      }
      // Whoever has left the page does not approve.
      if (!isOpen.current) return null;
      if (isSigned && signature === undefined) {
        setStep('signing');
        const { approvalOf, signedBy } = await import('../passkeys/passkey-signing.js');
        const content = approvalOf(decision, approverId, grant, body.delegationId);
        signature = await signedBy(client, approverId, content);
        // Meanwhile something may have changed.
        continue;
      }
      setStep('sending');
      const signed = { ...body, ...(signature && { signature }) };
      try {
        return await promptClient.post('/api/v1/decisions/{id}/approve', { path: { id: decision.id }, body: signed });
      } catch (error) {
        if (!(error instanceof GovernanceError) || error.status !== 429 || Date.now() > end) throw error;
      }
    }
  };
  const settle = async (verdict: 'approve' | 'reject'): Promise<void> => {
    setStep('sending');
    setIsConfirming(false);
    setError(null);
    setRefusal(null);
    try {
      const after = await review(verdict);
      if (after !== null) {
        dropComment();
        setRecorded((now) => [...now, approverId]);
        settled(after);
      }
    } catch (reason) {
      setError(reason);
    }
    setStep(null);
    changed();
  };

  return (
    <form onSubmit={(event) => event.preventDefault()}>
      {mine === null && !isForPeople ? (
        <label>
          Decide on behalf of{' '}
          {approvers.total > approvers.data.length ? (
            <small>(of {countText(approvers.total, 'reviewer')}, those that are listed above)</small>
          ) : null}
          <select value={approverId} onChange={(event) => setChosen(event.currentTarget.value)}>
            {approverId === '' ? <option value="">choose one of them</option> : null}
            <Options choices={able.map(({ agentId, name }) => [agentId, showInvisible(name)])} />
          </select>
        </label>
      ) : null}
      {mine !== null && places.some((one) => one.for !== undefined) ? (
        <label>
          Decide in the place of
          <select value={chosenOne?.delegationId ?? ''} onChange={(event) => setChosenPlace(event.currentTarget.value)}>
            <Options choices={places.map((one) => [one.delegationId ?? '', placeName(one.for, nameOf)])} />
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
      {mayApprove ? <GrantFields decision={decision} terms={grant} onChange={setGrant} /> : null}
      {parameters === null || approverId === '' ? null : instead === null ? (
        <button
          type="button"
          class="unfold"
          onClick={() => setInstead(revealedJson(JSON.stringify(parameters, null, 2)))}
        >
          Say what would be right
        </button>
      ) : (
        <label>
          What would be right <small>(the arguments; goes with Reject only)</small>
          <textarea
            rows={6}
            class="code"
            spellcheck={false}
            value={instead}
            onInput={(event) => setInstead(event.currentTarget.value)}
          />
          <button type="button" class="unfold" onClick={() => setInstead(null)}>
            Leave it out
          </button>
        </label>
      )}
      <Validity decision={decision} />
      {error === null ? null : <Problem error={error} />}
      {refusal === null ? null : <RefusalNotice refusal={refusal} />}
      {able.length === 0 || (mine !== null && !mayApprove) ? (
        <p class="notice">
          {WHY[isForPeople ? 'unbound' : (own?.why ?? (mine === decision.proposedBy ? 'proposer' : ''))] ??
            'Nobody who is listed can approve it now.'}{' '}
          It can still be rejected.{' '}
          {own?.why === 'no_passkey' ? <Link to={`passkeys/${own.agentId}`}>Add a passkey</Link> : null}
        </p>
      ) : missing.length === 0 ? null : (
        <p class="notice" role="status">
          You can approve once everything is on screen: {missing.join('; ')}.
        </p>
      )}
      <div class="buttons">
        <button
          type="button"
          class="primary"
          disabled={step !== null || isConfirming || isHeldUp}
          onClick={({ currentTarget }) => {
            if (!isWhole(currentTarget)) return;
            if (isRisky) setIsConfirming(true);
            else void settle('approve');
          }}
        >
          Approve
        </button>
        <button
          type="button"
          class="danger"
          disabled={step !== null || (approverId === '' && able.length > 0)}
          onClick={() => void settle('reject')}
        >
          Reject
        </button>
        <span class="help" role="status">
          {step === null ? `${isSigned ? 'Your device signs it. ' : ''}${howRecorded(mine, approverId)}` : STEPS[step]}
        </span>
      </div>
      {/* This button is not where the first one is, so that a double click does not press both. */}
      {isConfirming ? (
        <div class="buttons">
          <button
            type="button"
            class="primary"
            disabled={isHeldUp}
            onClick={({ currentTarget }) => {
              if (isWhole(currentTarget)) void settle('approve');
            }}
          >
            Approve it, at {decision.riskLevel} risk
          </button>
          <button type="button" onClick={() => setIsConfirming(false)}>
            Not yet
          </button>
        </div>
      ) : null}
    </form>
  );
}

/**
 * True if every field has the value that it shows: a number field that shows "5-" has none. If not, the browser points
 * at it.
 */
function isWhole({ form }: HTMLButtonElement): boolean {
  return form?.reportValidity() === true;
}

/** Shows until when it can be decided, and how long its approval can then be used. */
function Validity({ decision: { expiresAt, executeWithin } }: { readonly decision: Decision }): JSX.Element {
  return (
    <p>
      {expiresAt === null ? (
        'It can be decided at any time.'
      ) : (
        <>
          It can be decided until <LocalTime iso={expiresAt} /> (<TimeLeft until={expiresAt} />
          ).
        </>
      )}
      {executeWithin === null ? '' : ` From its approval on, it may be started for ${isoDurationText(executeWithin)}.`}
    </p>
  );
}

/** Whose place it is: the caller's own, or that of a person who is away. */
function placeName(agentId: string | undefined, nameOf: (id: string) => string): string {
  return agentId === undefined ? 'nobody else' : `${nameOf(agentId)}, who is away`;
}

function howRecorded(mine: string | null, approverId: string): string {
  const name = mine !== null ? 'under your name' : approverId === '' ? 'as done with your key' : 'as theirs';
  return `Recorded ${name}. It cannot be undone.`;
}
