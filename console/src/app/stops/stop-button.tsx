import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { useSession } from '../../api/session.js';
import { AgentField } from '../../ui/agent-field.js';
import { useDisclosure } from '../../ui/disclosure.js';
import { Lines, linesIn } from '../../ui/lines.js';
import { Problem } from '../../ui/parts.js';

/** Stops agents from any screen: everything, unless the form says less. */
export function StopButton(): JSX.Element | null {
  const { me, has } = useSession();
  const { isOpen, button, close } = useDisclosure();
  if (!has('admin') && (me.agentId === null || !has('review'))) return null;
  return (
    <>
      <button type="button" class="danger stop" {...button}>
        Stop agents
      </button>
      {isOpen ? <StopForm close={close} /> : null}
    </>
  );
}

function StopForm({ close }: { readonly close: () => void }): JSX.Element {
  // A stop is never sent late.
  const { promptClient } = useSession();
  const [agentId, setAgent] = useState('');
  const [role, setRole] = useState('');
  const [actions, setActions] = useState('');
  const [reason, setReason] = useState('');
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const patterns = linesIn(actions);
  const stop = async (): Promise<void> => {
    setBusy(true);
    setError(null);
    const scope = {
      ...(agentId !== '' && { agentId }),
      ...(role.trim() !== '' && { role: role.trim() }),
      ...(patterns.length > 0 && { actions: patterns }),
    };
    try {
      await promptClient.post('/api/v1/stops', { body: { ...scope, reason: reason.trim() } });
      close();
    } catch (failure) {
      setError(failure);
      setBusy(false);
    }
  };
  const isAll = agentId === '' && role.trim() === '' && patterns.length === 0;
  return (
    <form
      class="form stop"
      aria-label="Stop agents"
      onSubmit={(event) => {
        event.preventDefault();
        void stop();
      }}
    >
      <AgentField label="Agent" placeholder="every agent" onChange={setAgent} />
      <label>
        Role
        <input maxLength={100} placeholder="any role" onInput={(event) => setRole(event.currentTarget.value)} />
      </label>
      <Lines title="Actions" placeholder="every action" onInput={(event) => setActions(event.currentTarget.value)} />
      <label>
        Reason <small>(kept permanently)</small>
        <input required maxLength={2000} onInput={(event) => setReason(event.currentTarget.value)} />
      </label>
      {error === null ? null : <Problem error={error} />}
      <div class="buttons">
        <button type="submit" class="danger" disabled={busy}>
          {isAll ? 'Stop everything now' : 'Stop them now'}
        </button>
        <button type="button" onClick={close}>
          Cancel
        </button>
      </div>
    </form>
  );
}
