import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { useSession } from '../../api/session.js';
import { typedJson } from '../../api/typed-json.js';
import { ChangePending, type NewPolicy, type Plan } from '../../api/types.js';
import { ChangeProblem } from '../../app/changes/change-problem.js';
import { useDraft } from '../../ui/drafts.js';
import { Panel } from '../../ui/parts.js';
import { PlanView } from './plan.js';

/** The initial content of a new policy. */
export const NEW_POLICY = {
  name: 'a-new-policy',
  version: '1.0',
  description: '',
  effect: 'require_approval',
  subjects: ['role:support'],
  actions: ['refund'],
  resources: ['*'],
  conditions: [{ parameter: '/amount', op: 'gt', value: 100 }],
};

interface DraftProps {
  /** The place in which the text is kept until it is activated or cancelled. */
  readonly place: string;
  readonly initial: object;
  readonly onDone: () => void;
}

interface PlannedText {
  readonly plan: Plan;
  readonly policy: NewPolicy;
}

/**
 * Returns the team of a set of policies, which belong to one team or to none. A value that is no policy has no team;
 * the service refuses it.
 */
function teamIn({ team }: NewPolicy): { readonly team?: string } {
  return typeof team === 'string' ? { team } : {};
}

/** A draft of a policy: its plan is shown first, and only what was planned can be activated. */
export function Draft({ place, initial, onDone }: DraftProps): JSX.Element {
  const { client, slowClient } = useSession();
  const [text, setText, drop] = useDraft(place, JSON.stringify(initial, null, 2));
  const [plannedText, setPlannedText] = useState<PlannedText | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);

  const attempt = async (task: () => Promise<void>): Promise<void> => {
    setBusy(true);
    setError(null);
    await task().catch((reason: unknown) => setError(reason));
    setBusy(false);
  };
  const plan = (): Promise<void> =>
    attempt(async () => {
      const policy = typedJson(text) as NewPolicy;
      const body = { policies: [policy], ...teamIn(policy), replay: {} };
      setPlannedText({ policy, plan: await slowClient.post('/api/v1/policies/plan', { body }) });
    });
  const activate = ({ plan: { base }, policy }: PlannedText): Promise<void> =>
    attempt(async () => {
      await client
        .post('/api/v1/policies/apply', { body: { base, policies: [policy], ...teamIn(policy) } })
        .catch((reason: unknown) => {
          // Other policies may be in force by now, so the plan has to be made again, unless it waits for a second
          // person.
          if (!(reason instanceof ChangePending)) setPlannedText(null);
          throw reason;
        });
      close();
    });
  const close = (): void => {
    drop();
    onDone();
  };
  const edit = (now: string): void => {
    setText(now);
    // A plan, and a proposal, is valid only for the text that was planned.
    setPlannedText(null);
    setError(null);
  };

  return (
    <Panel title="A new version">
      <label>
        The policy
        <textarea
          class="code"
          rows={16}
          spellcheck={false}
          // The plan that is being loaded is for this text.
          readOnly={busy}
          value={text}
          onInput={(event) => edit(event.currentTarget.value)}
        />
      </label>
      <ChangeProblem error={error} again={() => void (plannedText && activate(plannedText))} />
      {plannedText === null ? null : <PlanView plan={plannedText.plan} />}
      <div class="buttons">
        {plannedText === null ? (
          <button type="button" class="primary" disabled={busy} onClick={() => void plan()}>
            {busy ? 'Calculating …' : 'Show what it would change'}
          </button>
        ) : (
          <button type="button" class="primary" disabled={busy} onClick={() => void activate(plannedText)}>
            Activate it
          </button>
        )}
        <button type="button" onClick={close}>
          Cancel
        </button>
        <span class="help">Nothing changes before you activate it.</span>
      </div>
    </Panel>
  );
}
