import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { useSession } from '../../api/session.js';
import type { Agent } from '../../api/types.js';
import { ChangeProblem } from '../../app/changes/change-problem.js';
import { useDisclosure } from '../../ui/disclosure.js';

/** Suspends an agent, from the service's answer on, or resumes it. */
export function Suspension({ agent, onDone }: { readonly agent: Agent; readonly onDone: () => void }): JSX.Element {
  const { client } = useSession();
  const { isOpen, button, close } = useDisclosure();
  const [reason, setReason] = useState('');
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const isActive = agent.status === 'active';
  const toggle = async (): Promise<void> => {
    setBusy(true);
    setError(null);
    const request = { path: { id: agent.id }, body: reason.trim() === '' ? {} : { reason: reason.trim() } };
    try {
      if (isActive) await client.post('/api/v1/agents/{id}/suspend', request);
      else await client.post('/api/v1/agents/{id}/resume', request);
      close();
      setReason('');
      onDone();
    } catch (failure) {
      setError(failure);
    }
    setBusy(false);
  };
  return (
    <>
      <button type="button" class={isActive ? 'danger' : undefined} {...button}>
        {isActive ? 'Suspend' : 'Resume'}
      </button>
      {isOpen ? (
        <form class="form" onSubmit={(event) => event.preventDefault()} aria-label={isActive ? 'Suspend' : 'Resume'}>
          <label>
            Reason <small>(optional, kept permanently)</small>
            <input maxLength={2000} value={reason} onInput={(event) => setReason(event.currentTarget.value)} />
          </label>
          <p class="help">
            {isActive
              ? 'From then on it executes, proposes and approves nothing, until it is resumed. What runs already goes on.'
              : 'It may do again what the policies allow.'}
          </p>
          <div class="buttons">
            <button type="button" class={isActive ? 'danger' : 'primary'} disabled={busy} onClick={() => void toggle()}>
              {isActive ? 'Suspend it now' : 'Resume it now'}
            </button>
            <button type="button" onClick={close}>
              Cancel
            </button>
          </div>
        </form>
      ) : null}
      <ChangeProblem error={error} again={() => void toggle()} />
    </>
  );
}
