import type { JSX } from 'preact';
import type { Checkpoint } from '../../api/types.js';
import { countText, numberText } from '../../ui/format.js';
import { Panel } from '../../ui/parts.js';
import { TimeAgo } from '../../ui/time.js';
import type { NoteVerdict } from './note.js';

interface CheckpointPanelProps {
  readonly head: Checkpoint;
  /** The time at which the checkpoint was loaded. */
  readonly time: string;
  readonly signature: NoteVerdict;
  readonly reload: () => void;
}

/** The service's statement about its ledger, and its signature. */
export function CheckpointPanel({ head, time, signature, reload }: CheckpointPanelProps): JSX.Element {
  const { size, origin, rootHash, publicKey, checkpoint } = head;
  return (
    <Panel
      title="The ledger"
      aside={
        <span class="buttons quiet">
          <span>
            loaded <TimeAgo iso={time} />
          </span>
          <button type="button" onClick={reload}>
            Refresh
          </button>
        </span>
      }
    >
      <dl class="pairs">
        <dt>Head</dt>
        <dd>{size === 0 ? 'empty' : `entry ${numberText(size)}`}</dd>
        <dt>Root</dt>
        <dd>
          <code class="hash">{rootHash}</code>
        </dd>
        <dt>Log</dt>
        <dd>{origin}</dd>
        <dt>Key</dt>
        <dd>
          <code class="hash">{publicKey}</code>
        </dd>
        <dt>Checkpoint</dt>
        <dd>
          <pre class="note" tabIndex={0} role="region" aria-label="Checkpoint">
            {checkpoint}
          </pre>
          <p class="help">
            Keep a copy of it and of the key somewhere else. Later they prove whether {size === 1 ? 'this' : 'these'}{' '}
            {countText(size, 'entry', 'entries')} {size === 1 ? 'has' : 'have'} changed.
          </p>
        </dd>
      </dl>
      <Signature verdict={signature} />
    </Panel>
  );
}

function Signature({ verdict }: { readonly verdict: NoteVerdict }): JSX.Element {
  if (verdict.is === 'unchecked')
    return <p class="notice warn">This page cannot check the signature: {verdict.because}.</p>;
  return verdict.is === 'valid' ? (
    <p class="notice good" role="status">
      Your browser checked the signature: this head and this root are signed with that key.
    </p>
  ) : (
    <p class="notice bad" role="alert">
      The signature is not that of the key for this head and this root. Do not rely on this checkpoint.
    </p>
  );
}
