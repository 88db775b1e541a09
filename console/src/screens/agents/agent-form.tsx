import type { JSX } from 'preact';
import { useSession } from '../../api/session.js';
import type { Agent } from '../../api/types.js';
import { useDisclosure } from '../../ui/disclosure.js';
import { textOf, useFormSending } from '../../ui/form-sending.js';
import { Lines, linesIn } from '../../ui/lines.js';
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
  const title = agent === null ? 'Register an agent' : 'Change it';

  const { error, busy, onSubmit } = useFormSending(async (given) => {
    const members = {
      description: textOf(given, 'description'),
      roles: linesIn(textOf(given, 'roles')),
      capabilities: linesIn(textOf(given, 'capabilities')),
    };
    if (agent === null) {
      const kind = textOf(given, 'kind') === 'human' ? 'human' : 'machine';
      await client.post('/api/v1/agents', { body: { name: textOf(given, 'name'), kind, ...members } });
    } else {
      // What somebody else has changed meanwhile is not overwritten.
      const headers = { 'If-Match': `"${agent.revision}"` };
      await client.patch('/api/v1/agents/{id}', { path: { id: agent.id }, body: members, headers });
    }
    close();
    done();
  });

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
          <Lines name="roles" title="Roles" defaultValue={agent?.roles.join('\n') ?? ''} />
          <Lines name="capabilities" title="Capabilities" defaultValue={agent?.capabilities.join('\n') ?? ''} />
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
