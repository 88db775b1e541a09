import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { useLoad } from '../../api/load.js';
import { useSession } from '../../api/session.js';
import type { Oversight } from '../../api/types.js';
import { ChangeProblem } from '../../app/changes/change-problem.js';
import { showInvisible } from '../../ui/format.js';
import { Badge, When } from '../../ui/parts.js';

/** A policy that decided nothing may have kept agents from requesting something. */
function Consequence({ policyId: id }: { readonly policyId: string }): JSX.Element {
  const { client } = useSession();
  const planLoad = useLoad(
    (signal) => client.get('/api/v1/policies/{id}', { path: { id }, query: {}, signal }),
    [client, id],
  );
  return (
    <When load={planLoad} label="what it does">
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
  readonly policy: Oversight['unused'][number];
  readonly onDone: () => void;
}

/** A button that drafts the removal of a policy that nobody uses. Nothing happens before it is confirmed. */
export function Removal({ policy: { id, name, version }, onDone }: RemovalProps): JSX.Element {
  const { promptClient } = useSession();
  const [isDrafted, setIsDrafted] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const policyText = showInvisible(`${name} ${version}`);
  const remove = async (): Promise<void> => {
    setError(null);
    try {
      await promptClient.post('/api/v1/policies/{id}/deactivate', { path: { id } });
      onDone();
    } catch (reason) {
      setError(reason);
    }
  };
  if (!isDrafted)
    return (
      <button type="button" aria-label={`Draft its removal: ${policyText}`} onClick={() => setIsDrafted(true)}>
        Draft its removal
      </button>
    );
  return (
    <span class="buttons" role="group" aria-label={`Removal of ${policyText}`}>
      <Consequence policyId={id} />
      <button type="button" class="danger" onClick={() => void remove()}>
        Take it out of force
      </button>
      <button type="button" onClick={() => setIsDrafted(false)}>
        Keep
      </button>
      <ChangeProblem error={error} again={() => void remove()} />
    </span>
  );
}
