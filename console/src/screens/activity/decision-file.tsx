import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { askPlain } from '../../api/plain.js';
import { useSession } from '../../api/session.js';
import { Problem } from '../../ui/parts.js';
import { save } from '../../ui/save.js';

/** A button that downloads what an execution was decided by: whoever has the file can decide it again. */
export function DecisionFile({ of: id }: { readonly of: string }): JSX.Element | null {
  const { connection, has } = useSession();
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  if (!has('audit')) return null;
  const download = async (): Promise<void> => {
    setBusy(true);
    setError(null);
    try {
      const response = await askPlain(connection, `/api/v1/executions/${encodeURIComponent(id)}/evidence`);
      save(`${id}.evidence.json`, await response.blob());
    } catch (reason) {
      setError(reason);
    }
    setBusy(false);
  };
  return (
    <>
      <button type="button" disabled={busy} onClick={() => void download()}>
        Decision file
      </button>
      {error === null ? null : <Problem error={error} />}
    </>
  );
}
