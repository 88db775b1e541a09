import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { useSession } from '../../api/session.js';
import type { Oversight } from '../../api/types.js';
import { revealed } from '../../ui/format.js';
import { Problem } from '../../ui/parts.js';

interface RemovalProps {
  readonly of: Oversight['unused'][number];
  readonly done: () => void;
}

/** A button that drafts the removal of a policy that nobody uses. Nothing happens before it is confirmed. */
export function Removal({ of: { id, name, version }, done }: RemovalProps): JSX.Element {
  const { promptClient } = useSession();
  const [isDrafted, setIsDrafted] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const what = revealed(`${name} ${version}`);
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
      <span class="help">It decides nothing from then on; it can be brought back.</span>
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
