import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { askPlain } from '../../api/plain.js';
import { useSession } from '../../api/session.js';
import type { Checkpoint } from '../../api/types.js';
import { counted } from '../../ui/format.js';
import { Panel, Problem } from '../../ui/parts.js';

/** For those who trust neither the service nor this page. */
export function Download({ of: said }: { readonly of: Checkpoint }): JSX.Element {
  const { connection } = useSession();
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const download = async (): Promise<void> => {
    setBusy(true);
    setError(null);
    try {
      const response = await askPlain(connection, '/api/v1/provenance/export');
      // The browser keeps it outside the page's memory.
      save('ledger.ndjson', await response.blob());
    } catch (reason) {
      setError(reason);
    }
    setBusy(false);
  };
  return (
    <Panel title="Check it yourself">
      <p>
        If you do not want to trust this page, download the ledger and verify it with a program that shares no code with
        the service: the folder <code>verifier</code> in its sources. It needs only Node.js.
      </p>
      <div class="buttons">
        <button type="button" class="primary" disabled={busy} onClick={() => void download()}>
          {busy ? 'Downloading …' : `Download ${counted(said.size, 'entry', 'entries')}`}
        </button>
        <button type="button" onClick={() => save('checkpoint.json', new Blob([`${JSON.stringify(said, null, 2)}\n`]))}>
          Download the checkpoint
        </button>
      </div>
      {error === null ? null : <Problem error={error} />}
      <pre class="note" tabIndex={0} role="region" aria-label="Command">
        {`node verifier/main.mjs ledger.ndjson --checkpoint checkpoint.json --public-key '${said.publicKey}'`}
      </pre>
      <p class="help">A checkpoint and a key that you kept earlier prove more than today's.</p>
    </Panel>
  );
}

function save(name: string, content: Blob): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  // The browser has begun to read it by then.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
