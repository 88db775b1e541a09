import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { requestPlain } from '../../api/plain.js';
import { useSession } from '../../api/session.js';
import type { Checkpoint } from '../../api/types.js';
import { countText } from '../../ui/format.js';
import { Panel, Problem } from '../../ui/parts.js';
import { save } from '../../ui/save.js';

const LEDGER = 'ledger.ndjson';

/** The export of the ledger, for those who trust neither the service nor this page. */
export function Download({ checkpoint }: { readonly checkpoint: Checkpoint }): JSX.Element {
  const { connection } = useSession();
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const download = async (): Promise<void> => {
    setBusy(true);
    setError(null);
    try {
      const file = await chosenFile(LEDGER);
      const response = await requestPlain(connection, '/api/v1/provenance/export');
      if (file === null || response.body === null) save(LEDGER, await response.blob());
      // If it fails halfway, no incomplete file is left.
      else await response.body.pipeTo(await file.createWritable());
    } catch (reason) {
      // The person closed the dialogue.
      if (!(reason instanceof DOMException && reason.name === 'AbortError')) setError(reason);
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
          {busy ? 'Downloading …' : `Download ${countText(checkpoint.size, 'entry', 'entries')}`}
        </button>
        <button
          type="button"
          onClick={() => save('checkpoint.json', new Blob([`${JSON.stringify(checkpoint, null, 2)}\n`]))}
        >
          Download the checkpoint
        </button>
      </div>
      {error === null ? null : <Problem error={error} />}
      <pre class="note" tabIndex={0} role="region" aria-label="Command">
        {`node verifier/main.mjs ledger.ndjson --checkpoint checkpoint.json --public-key '${checkpoint.publicKey}'`}
      </pre>
      <p class="help">A checkpoint and a key that you kept earlier prove more than today's.</p>
    </Panel>
  );
}

/** Some browsers write a download to the file as it arrives; the others hold all of it first. */
interface FilePicking {
  showSaveFilePicker?(options: { readonly suggestedName: string }): Promise<FileSystemFileHandle>;
}

/** The file that the person chooses; null if the browser cannot ask. */
async function chosenFile(suggestedName: string): Promise<FileSystemFileHandle | null> {
  return (await (window as FilePicking).showSaveFilePicker?.({ suggestedName })) ?? null;
}
