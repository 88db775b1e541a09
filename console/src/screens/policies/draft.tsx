import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { useSession } from '../../api/session.js';
import { typedJson } from '../../api/typed-json.js';
import type { NewPolicy, Plan } from '../../api/types.js';
import { useDraft } from '../../ui/drafts.js';
import { Panel, Problem } from '../../ui/parts.js';
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
  /** Where the text is kept until it is activated or cancelled. */
  readonly place: string;
  readonly initial: object;
  readonly done: () => void;
}

interface Planned {
  readonly plan: Plan;
  readonly policy: NewPolicy;
}

/** A draft of a policy: its plan is shown first, and only what was planned can be activated. */
export function Draft({ place, initial, done }: DraftProps): JSX.Element {
  const { client, slowClient } = useSession();
  const [text, setText, drop] = useDraft(place, JSON.stringify(initial, null, 2));
  const [planned, setPlanned] = useState<Planned | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);

  const attempt = async (what: () => Promise<void>): Promise<void> => {
    setBusy(true);
    setError(null);
    await what().catch((reason: unknown) => setError(reason));
    setBusy(false);
  };
  const plan = (): Promise<void> =>
    attempt(async () => {
      const policy = typedJson(text) as NewPolicy;
      const body = { policies: [policy], replay: {} };
      setPlanned({ policy, plan: await slowClient.post('/api/v1/policies/plan', { body }) });
    });
  const activate = ({ plan: { base }, policy }: Planned): Promise<void> =>
    attempt(async () => {
      await client.post('/api/v1/policies/apply', { body: { base, policies: [policy] } }).catch((reason: unknown) => {
        // Other policies may be in force by now, so the plan has to be made again.
        setPlanned(null);
        throw reason;
      });
      close();
    });
  const close = (): void => {
    drop();
    done();
  };
  const edit = (now: string): void => {
    setText(now);
    // A plan is valid only for what was planned.
    setPlanned(null);
  };

  return (
    <Panel title="A new version">
      <label>
        The policy
        <textarea
          class="code"
          rows={16}
          spellcheck={false}
          // The plan that is on its way is one of this text.
          readOnly={busy}
          value={text}
          onInput={(event) => edit(event.currentTarget.value)}
        />
      </label>
      {error === null ? null : <Problem error={error} />}
      {planned === null ? null : <PlanView plan={planned.plan} />}
      <div class="buttons">
        {planned === null ? (
          <button type="button" class="primary" disabled={busy} onClick={() => void plan()}>
            {busy ? 'Calculating …' : 'Show what it would change'}
          </button>
        ) : (
          <button type="button" class="primary" disabled={busy} onClick={() => void activate(planned)}>
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
