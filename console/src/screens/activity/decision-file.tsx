import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { requestPlain } from '../../api/plain.js';
import { useSession } from '../../api/session.js';
import { Problem } from '../../ui/parts.js';
import { save } from '../../ui/save.js';

interface DecisionFileProps {
  readonly records: 'executions' | 'decisions';
  /** Id of the execution, or of the decision on a change. */
  readonly id: string;
}

/**
 * A button that downloads the decision file of an execution or a change, with which anybody can recompute the decision.
 */
export function DecisionFile({ records, id }: DecisionFileProps): JSX.Element | null {
  const { connection, has } = useSession();
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  if (!has('audit')) return null;
  const download = async (): Promise<void> => {
    setBusy(true);
    setError(null);
    try {
      const response = await requestPlain(connection, `/api/v1/${records}/${encodeURIComponent(id)}/evidence`);
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
