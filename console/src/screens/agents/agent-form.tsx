import type { JSX } from 'preact';
import { useSession } from '../../api/session.js';
import type { Agent } from '../../api/types.js';
import { ChangeProblem } from '../../app/changes/change-problem.js';
import { useDisclosure } from '../../ui/disclosure.js';
import { textOf, useFormSending } from '../../ui/form-sending.js';
import { Lines, linesIn } from '../../ui/lines.js';
import { Needs } from '../../ui/parts.js';

interface AgentFormProps {
  /** The agent to change; null for a new one. */
  readonly agent: Agent | null;
  /** The roles that the directory gives and takes. */
  readonly managedRoles?: readonly string[];
  readonly onDone: () => void;
}

/** Registers an agent, or changes one. Its name and kind stay as they are given first. */
export function AgentForm({ agent, managedRoles = [], onDone }: AgentFormProps): JSX.Element {
  const { client, has } = useSession();
  const { isOpen, button, close } = useDisclosure();
  const title = agent === null ? 'Register an agent' : 'Change it';
  const ownRoles = agent?.roles.filter((role) => !managedRoles.includes(role)) ?? [];
  /** Keeps the order of the roles that stay, so that nothing changes if nobody changes anything. */
  const rolesIn = (text: string): string[] => {
    const lines = linesIn(text);
    const before = agent?.roles ?? [];
    const remainingRoles = before.filter((role) => managedRoles.includes(role) || lines.includes(role));
    return [...remainingRoles, ...lines.filter((role) => !before.includes(role))];
  };

  const { error, busy, onSubmit, again } = useFormSending(async (form) => {
    const members = {
      description: textOf(form, 'description'),
      roles: rolesIn(textOf(form, 'roles')),
      capabilities: linesIn(textOf(form, 'capabilities')),
    };
    if (agent === null) {
      const kind = textOf(form, 'kind') === 'human' ? 'human' : 'machine';
      const team = textOf(form, 'team').trim();
      const body = { name: textOf(form, 'name'), kind, ...members, ...(team !== '' && { team }) } as const;
      await client.post('/api/v1/agents', { body });
    } else {
      // What somebody else has changed meanwhile is not overwritten.
      const headers = { 'If-Match': `"${agent.revision}"` };
      await client.patch('/api/v1/agents/{id}', { path: { id: agent.id }, body: members, headers });
    }
    close();
    onDone();
  });

  if (agent === null && !has('agents')) return <Needs scope="agents" label="Registering agents" />;
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
              <label>
                Team <small>(of a machine; optional)</small>
                <input name="team" maxLength={50} autocomplete="off" />
              </label>
            </>
          ) : null}
          <Lines name="roles" title="Roles" defaultValue={ownRoles.join('\n')} />
          <Lines name="capabilities" title="Capabilities" defaultValue={agent?.capabilities.join('\n') ?? ''} />
          <label class="wide">
            Description
            <textarea name="description" rows={2} maxLength={2000} defaultValue={agent?.description ?? ''} />
          </label>
          {ownRoles.length === (agent?.roles.length ?? 0) ? null : (
            <p class="help wide">Roles of the directory, which it alone gives and takes, are not listed here.</p>
          )}
          <ChangeProblem error={error} again={again} />
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
