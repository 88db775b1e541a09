import type { JSX, TargetedSubmitEvent } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { useSession } from '../../api/session.js';
import type { Agent } from '../../api/types.js';
import { useDisclosure } from '../../ui/disclosure.js';
import { Needs, Problem } from '../../ui/parts.js';

interface AgentFormProps {
  /** The agent to change; null for a new one. */
  readonly agent: Agent | null;
  readonly done: () => void;
}

/** Registers an agent, or changes one. Its name and kind stay as they are given first. */
export function AgentForm({ agent, done }: AgentFormProps): JSX.Element {
  const { client, has } = useSession();
  const { isOpen, button, close } = useDisclosure();
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  /** As `busy`, at once: a second click may come before the button is disabled. */
  const isSending = useRef(false);
  const title = agent === null ? 'Register an agent' : 'Change it';

  const send = async (form: HTMLFormElement): Promise<void> => {
    const given = new FormData(form);
    const text = (member: string): string => {
      const value = given.get(member);
      return typeof value === 'string' ? value : '';
    };
    const members = {
      description: text('description'),
      roles: linesIn(text('roles')),
      capabilities: linesIn(text('capabilities')),
    };
    setError(null);
    try {
      if (agent === null) {
        const kind = text('kind') === 'human' ? 'human' : 'machine';
        await client.post('/api/v1/agents', { body: { name: text('name'), kind, ...members } });
      } else {
        // What somebody else has changed meanwhile is not overwritten.
        const headers = { 'If-Match': `"${agent.revision}"` };
        await client.patch('/api/v1/agents/{id}', { path: { id: agent.id }, body: members, headers });
      }
      close();
      done();
    } catch (reason) {
      setError(reason);
    }
  };
  const onSubmit = (event: TargetedSubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    if (isSending.current) return;
    isSending.current = true;
    setBusy(true);
    void send(event.currentTarget).finally(() => {
      isSending.current = false;
      setBusy(false);
    });
  };

  if (agent === null && !has('agents')) return <Needs scope="agents" what="Registering agents" />;
  return (
    <div class="issue">
      <button type="button" {...button}>
        {title}
      </button>
      {isOpen ? (
        <form class="panel form columns" onSubmit={onSubmit} aria-label={title}>
          {agent === null ? (
            <>
              <label>
                Name
                <input name="name" required maxLength={200} autocomplete="off" />
              </label>
              <label>
                Kind <small>(for ever)</small>
                <select name="kind">
                  <option value="machine">machine</option>
                  {has('admin') ? <option value="human">person</option> : null}
                </select>
              </label>
            </>
          ) : null}
          <Lines name="roles" title="Roles" lines={agent?.roles ?? []} />
          <Lines name="capabilities" title="Capabilities" lines={agent?.capabilities ?? []} />
          <label class="wide">
            Description
            <textarea name="description" rows={2} maxLength={2000} defaultValue={agent?.description ?? ''} />
          </label>
          {error === null ? null : <Problem error={error} />}
          <div class="buttons wide">
            <button type="submit" class="primary" disabled={busy}>
              {agent === null ? 'Register it' : 'Save'}
            </button>
            <button type="button" onClick={close}>
              Cancel
            </button>
          </div>
        </form>
      ) : null}
    </div>
  );
}

interface LinesProps {
  readonly name: string;
  readonly title: string;
  readonly lines: readonly string[];
}

function Lines({ name, title, lines }: LinesProps): JSX.Element {
  return (
    <label>
      {title} <small>(one on each line)</small>
      <textarea name={name} rows={3} defaultValue={lines.join('\n')} />
    </label>
  );
}

function linesIn(text: string): string[] {
  const lines = text.split('\n').map((line) => line.trim());
  return [...new Set(lines.filter((line) => line !== ''))];
}
