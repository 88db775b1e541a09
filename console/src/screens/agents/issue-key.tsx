import type { JSX } from 'preact';
import { useSession } from '../../api/session.js';
import type { Scope } from '../../api/types.js';
import { ChangeProblem } from '../../app/changes/change-problem.js';
import { AgentField } from '../../ui/agent-field.js';
import { useDisclosure } from '../../ui/disclosure.js';
import { textOf, useFormSending } from '../../ui/form-sending.js';
import { showInvisible } from '../../ui/format.js';
import { type IssuedKeys, useUnsavedKeys } from '../../ui/unsaved-keys.js';

const SCOPES: readonly (readonly [Scope, string])[] = [
  ['read', 'see records, ask what policies say'],
  ['review', 'approve and reject'],
  ['audit', 'follow the trail, verify'],
  ['execute', 'ask to act'],
  ['propose', 'propose decisions'],
  ['entities', 'write entities and claims'],
  ['agents', 'write machines'],
  ['policies', 'write policies'],
  ['report', 'for a gateway: report what it carried out; alone in its key'],
  ['directory', 'for a directory: people and groups by SCIM; alone in its key'],
  ['admin', 'everything else; cannot be bound to an agent'],
];
/** The scopes that a reviewer needs. */
const REVIEWER: readonly Scope[] = ['read', 'review'];

/** Issues a key, whose secret is shown only once, above the screen. */
export function IssueKey({ onDone }: { readonly onDone: () => void }): JSX.Element {
  const { client } = useSession();
  const { isOpen, button, close } = useDisclosure();
  const { receive } = useUnsavedKeys();

  const { error, busy, onSubmit, again } = useFormSending(async (form) => {
    const [agentId, expires] = [textOf(form, 'agent').trim(), textOf(form, 'expires')];
    const team = textOf(form, 'team').trim();
    const scopes = form.getAll('scopes').filter((scope) => typeof scope === 'string');
    const body = {
      name: textOf(form, 'name'),
      scopes: scopes as Scope[],
      ...(agentId === '' ? {} : { agentId }),
      ...(team === '' ? {} : { team }),
      ...(expires === '' ? {} : { expiresAt: new Date(expires).toISOString() }),
    };
    await receive(async () => {
      const answer = await client.post('/api/v1/api-keys', { body });
      close();
      return shownOnce(answer);
    });
    onDone();
  });

  return (
    <div class="issue">
      <button type="button" {...button}>
        Issue a key
      </button>
      {isOpen ? (
        <form class="panel form columns" onSubmit={onSubmit} aria-label="Issue a key">
          <label>
            Name
            <input name="name" required maxLength={100} autocomplete="off" />
          </label>
          <AgentField label="Acts as" name="agent" placeholder="No agent" />
          <label>
            Expires <small>(optional)</small>
            <input name="expires" type="datetime-local" />
          </label>
          <label>
            Team <small>(for read, agents, policies and execute; acts as no agent)</small>
            <input name="team" maxLength={50} autocomplete="off" />
          </label>
          <fieldset class="wide">
            <legend>Scopes</legend>
            {SCOPES.map(([scope, meaning]) => (
              <label key={scope} class="check">
                <input type="checkbox" name="scopes" value={scope} defaultChecked={REVIEWER.includes(scope)} /> {scope}{' '}
                <small>{meaning}</small>
              </label>
            ))}
          </fieldset>
          <ChangeProblem error={error} again={again} />
          <div class="buttons wide">
            <button type="submit" class="primary" disabled={busy}>
              {busy ? 'Issuing …' : 'Issue the key'}
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

interface IssuedKey {
  readonly name: string;
  readonly secret: string;
  readonly warnings?: readonly string[];
}

function shownOnce({ name, secret, warnings = [] }: IssuedKey): IssuedKeys {
  return {
    title: `The key ${showInvisible(name)} is issued. Its secret is shown only once:`,
    advice: ['copy it now and give it to its holder.', ...warnings.map(showInvisible)].join(' '),
    keys: [{ name: showInvisible(name), secret }],
  };
}
