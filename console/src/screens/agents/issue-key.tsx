import type { JSX, TargetedSubmitEvent } from 'preact';
import { useState } from 'preact/hooks';
import { useNames } from '../../api/names.js';
import { useSession } from '../../api/session.js';
import type { Scope } from '../../api/types.js';
import { Options } from '../../ui/options.js';
import { Problem } from '../../ui/parts.js';

const SCOPES: readonly (readonly [Scope, string])[] = [
  ['read', 'see records, ask what policies say'],
  ['review', 'approve and reject'],
  ['audit', 'follow the trail, verify'],
  ['execute', 'ask to act'],
  ['propose', 'propose decisions'],
  ['entities', 'write entities and claims'],
  ['agents', 'write machines'],
  ['policies', 'write policies'],
  ['admin', 'everything; cannot be bound to an agent'],
];
/** What a person needs who reviews. */
const REVIEWER: readonly Scope[] = ['read', 'review'];

/** Issues a key; its secret is shown once, here. */
export function IssueKey({ done }: { readonly done: () => void }): JSX.Element {
  const { client, names } = useSession();
  useNames();
  const [open, setOpen] = useState(false);
  const [secret, setSecret] = useState<string | null>(null);
  const [error, setError] = useState<unknown>(null);

  const issue = async (form: HTMLFormElement): Promise<void> => {
    const given = new FormData(form);
    const text = (member: string): string => {
      const value = given.get(member);
      return typeof value === 'string' ? value : '';
    };
    const [agentId, expires] = [text('agent'), text('expires')];
    const scopes = given.getAll('scopes').filter((scope) => typeof scope === 'string');
    setError(null);
    try {
      const body = {
        name: text('name'),
        scopes: scopes as Scope[],
        ...(agentId === '' ? {} : { agentId }),
        ...(expires === '' ? {} : { expiresAt: new Date(expires).toISOString() }),
      };
      const issued = await client.post('/api/v1/api-keys', { body });
      setSecret(issued.secret);
      setOpen(false);
      done();
    } catch (reason) {
      setError(reason);
    }
  };
  const onSubmit = (event: TargetedSubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    void issue(event.currentTarget);
  };

  return (
    <div class="issue">
      {secret === null ? null : (
        <div class="notice good" role="status">
          <p>
            <strong>The key is issued. It is shown only once:</strong> copy it now and give it to its holder.
          </p>
          <p>
            <code>{secret}</code>
          </p>
          <button type="button" onClick={() => setSecret(null)}>
            I have saved it
          </button>
        </div>
      )}
      {open ? (
        <form class="panel form columns" onSubmit={onSubmit} aria-label="Issue a key">
          <label>
            Name
            <input name="name" required maxLength={100} autocomplete="off" />
          </label>
          <label>
            Acts as
            <select name="agent">
              <option value="">no agent</option>
              <Options of={names.all().map(({ id, name }) => [id, name])} />
            </select>
          </label>
          <label>
            Expires <small>(optional)</small>
            <input name="expires" type="datetime-local" />
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
          {error === null ? null : <Problem error={error} />}
          <div class="buttons wide">
            <button type="submit" class="primary">
              Issue the key
            </button>
            <button type="button" onClick={() => setOpen(false)}>
              Cancel
            </button>
          </div>
        </form>
      ) : (
        <button type="button" onClick={() => setOpen(true)}>
          Issue a key
        </button>
      )}
    </div>
  );
}
