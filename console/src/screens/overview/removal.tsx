import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { useLoad } from '../../api/load.js';
import { useSession } from '../../api/session.js';
import type { Oversight } from '../../api/types.js';
import { showInvisible } from '../../ui/format.js';
import { Badge, Problem, When } from '../../ui/parts.js';

/** What decided nothing may have kept something from being asked. */
function Consequence({ of: id }: { readonly of: string }): JSX.Element {
  const { client } = useSession();
  const found = useLoad(
    (signal) => client.get('/api/v1/policies/{id}', { path: { id }, query: {}, signal }),
    [client, id],
  );
  return (
    <When of={found} what="what it does">
      {({ effect }) => (
        <span class="help">
          <Badge value={effect} />{' '}
          {effect === 'allow'
            ? 'Agents lose what only it allows.'
            : 'It holds agents back: without it, they may be allowed more.'}{' '}
          It can be brought back.
        </span>
      )}
    </When>
  );
}

interface RemovalProps {
  readonly of: Oversight['unused'][number];
  readonly done: () => void;
}

/** A button that drafts the removal of a policy that nobody uses. Nothing happens before it is confirmed. */
export function Removal({ of: { id, name, version }, done }: RemovalProps): JSX.Element {
  const { promptClient } = useSession();
  const [isDrafted, setIsDrafted] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const what = showInvisible(`${name} ${version}`);
  const remove = async (): Promise<void> => {
    setError(null);
    try {
      await promptClient.post('/api/v1/policies/{id}/deactivate', { path: { id } });
      done();
    } catch (reason) {
      setError(reason);
    }
  };
  if (!isDrafted)
    return (
      <button type="button" aria-label={`Draft its removal: ${what}`} onClick={() => setIsDrafted(true)}>
        Draft its removal
      </button>
    );
  return (
    <span class="buttons" role="group" aria-label={`Removal of ${what}`}>
      <Consequence of={id} />
      <button type="button" class="danger" onClick={() => void remove()}>
        Take it out of force
      </button>
      <button type="button" onClick={() => setIsDrafted(false)}>
        Keep
      </button>
      {error === null ? null : <Problem error={error} />}
    </span>
  );
}
