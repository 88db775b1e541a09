import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { useFeed } from '../../api/use-feed.js';
import { useLoad } from '../../api/load.js';
import { useNames } from '../../api/use-names.js';
import { useSession } from '../../api/session.js';
import type { Passkey } from '../../api/types.js';
import { ChangeProblem } from '../../app/changes/change-problem.js';
import { textOf, useFormSending } from '../../ui/form-sending.js';
import { showInvisible } from '../../ui/format.js';
import { Panel, Problem, When } from '../../ui/parts.js';
import { LocalTime } from '../../ui/time.js';
import { isUsable, passkeysOf, registerPasskey, signedBy } from './passkey-signing.js';

/** The passkeys of a person, who adds and removes them; an administrator removes them, too. */
export function PasskeyPanel({ id: agentId }: { readonly id: string }): JSX.Element {
  const { client, me, has } = useSession();
  const nameOf = useNames();
  const list = useLoad(() => passkeysOf(client, agentId), [client, agentId]);
  useFeed(list.reload, ({ action }) => action.startsWith('passkey.'));
  const isOwn = me.agentId === agentId;
  return (
    <>
      <header class="screen-head">
        <h1>{isOwn ? 'Your passkeys' : `The passkeys of ${nameOf(agentId)}`}</h1>
      </header>
      <Panel title="Passkeys">
        <p>
          With a passkey, a device signs an approval that nobody else can give: not whoever has the key of the person,
          nor what drives their browser.
        </p>
        <When load={list} label="the passkeys">
          {(passkeys) => (
            <>
              {passkeys.length === 0 ? <p class="quiet">No passkeys yet.</p> : null}
              <ul class="rows">
                {passkeys.map((passkey) => (
                  <Row key={passkey.id} passkey={passkey} mayRemove={isOwn || has('admin')} onDone={list.reload} />
                ))}
              </ul>
              {isOwn && has('review') ? <AddPasskey isFirst={!passkeys.some(isUsable)} onDone={list.reload} /> : null}
            </>
          )}
        </When>
      </Panel>
    </>
  );
}

interface RowProps {
  readonly passkey: Passkey;
  readonly mayRemove: boolean;
  readonly onDone: () => void;
}

function Row({ passkey: { id, agentId, name, rpId, createdAt }, mayRemove, onDone }: RowProps): JSX.Element {
  const { client, me } = useSession();
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const remove = async (): Promise<void> => {
    setBusy(true);
    setError(null);
    try {
      const content = { agentId, passkeyId: id, verdict: 'remove' };
      const signature = me.agentId === agentId ? await signedBy(client, agentId, content) : null;
      const path = { id: agentId, passkeyId: id };
      await client.post('/api/v1/agents/{id}/passkeys/{passkeyId}/remove', {
        path,
        body: { ...(signature && { signature }) },
      });
      onDone();
    } catch (reason) {
      setError(reason);
    }
    setBusy(false);
  };
  return (
    <li>
      <div class="row">
        <span class="row-what">
          <strong>
            <bdi>{showInvisible(name)}</bdi>
          </strong>
          <span class="row-who">
            for {showInvisible(rpId)}, since <LocalTime iso={createdAt} />
            {isUsable({ rpId }) ? null : '. It cannot sign on this page, which has another host.'}
          </span>
        </span>
        {mayRemove ? (
          <span class="row-state buttons">
            <button
              type="button"
              disabled={busy}
              onClick={() => void remove()}
              aria-label={`Remove ${showInvisible(name)}`}
            >
              Remove
            </button>
          </span>
        ) : null}
      </div>
      <ChangeProblem error={error} again={() => void remove()} />
    </li>
  );
}

function AddPasskey({ isFirst, onDone }: { readonly isFirst: boolean; readonly onDone: () => void }): JSX.Element {
  const { client, me } = useSession();
  const { error, busy, onSubmit } = useFormSending(async (form) => {
    await registerPasskey(client, me.agentId ?? '', textOf(form, 'name').trim());
    onDone();
  });
  return (
    <form class="form" onSubmit={onSubmit}>
      <label>
        Name of the device
        <input name="name" required maxLength={100} autocomplete="off" />
      </label>
      <p class="help">
        {isFirst
          ? 'The first one is taken on your key alone. If one is listed here that is not yours, tell an administrator.'
          : 'You confirm twice: on the new device, and with a passkey that you have.'}
      </p>
      <div class="buttons">
        <button type="submit" class="primary" disabled={busy}>
          Add a passkey
        </button>
      </div>
      {error === null ? null : <Problem error={error} />}
    </form>
  );
}
