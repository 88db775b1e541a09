import type { JSX } from 'preact';
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { verdictOf, wrongs } from '../../../../verifier/decision/result-text.mjs';
import { Fault } from '../../api/fault.js';
import { useLoad } from '../../api/load.js';
import { textOf, useFormSending } from '../../ui/form-sending.js';
import { countText, showInvisible } from '../../ui/format.js';
import { Panel, Problem, When } from '../../ui/parts.js';
import { LocalTime } from '../../ui/time.js';
import { useLogKey } from './log-key.js';
import { keysIn, loadVerifier, recomputeFile, type Result } from './recomputed.js';

/** The panel in which the browser recomputes the decisions of a decision file. */
export function Recompute(): JSX.Element {
  const [file, setFile] = useState<File | null>(null);
  const [key, keepKey] = useLogKey();
  const result = useLoad(
    async () => (file === null || key === null ? null : { name: file.name, result: await recomputeFile(file, key) }),
    [file, key],
  );
  useEffect(() => {
    // Loads the code now, so that the network may be off when the file comes. If that fails, taking the file shows an
    // error.
    loadVerifier().catch(() => undefined);
  }, []);
  const zone = useRef<HTMLLabelElement>(null);
  const take = useCallback((droppedFile: File) => {
    setFile(droppedFile);
    // The file may have been dropped far from the result.
    zone.current?.scrollIntoView();
  }, []);
  const isOver = useDrop(take);
  return (
    <Panel title="Recompute a decision">
      <p>
        A decision file holds what an execution was decided by. Your browser checks that the ledger has all of it, and
        decides again. It sends nothing to the service.
      </p>
      <label ref={zone} class={isOver ? 'drop over' : 'drop'}>
        Drop a decision file on this page, or choose one{' '}
        <input
          type="file"
          accept=".json,application/json"
          onChange={({ currentTarget }) => {
            setFile(currentTarget.files?.[0] ?? null);
            // The same file may be chosen again, after it has changed.
            currentTarget.value = '';
          }}
        />
      </label>
      {key === null ? (
        <KeyForm keep={keepKey} />
      ) : (
        <p class="help">
          Signatures count by the key <code class="hash">{showInvisible(key)}</code>{' '}
          <button type="button" onClick={() => keepKey(null)}>
            Use another key
          </button>
        </p>
      )}
      {file === null || key === null ? null : (
        <When load={result} label="and recomputing the file">
          {(result) => (result === null ? null : <RecomputeResult name={result.name} result={result.result} />)}
        </When>
      )}
    </Panel>
  );
}

/**
 * Calls `take` with a file that is dropped anywhere on the page, which the browser would otherwise open. Returns true
 * while a file is held over the page.
 */
function useDrop(take: (file: File) => void): boolean {
  const [isOver, setOver] = useState(false);
  useEffect(() => {
    const onOver = (event: DragEvent): void => {
      if (event.dataTransfer?.types.includes('Files') !== true) return;
      event.preventDefault();
      setOver(true);
    };
    const onLeave = (event: DragEvent): void => {
      // The event also comes when the file moves from one element of the page to another.
      if (event.relatedTarget === null) setOver(false);
    };
    const onDrop = (event: DragEvent): void => {
      const file = event.dataTransfer?.files[0];
      if (file === undefined) return;
      event.preventDefault();
      setOver(false);
      take(file);
    };
    addEventListener('dragover', onOver);
    addEventListener('dragleave', onLeave);
    addEventListener('drop', onDrop);
    return () => {
      removeEventListener('dragover', onOver);
      removeEventListener('dragleave', onLeave);
      removeEventListener('drop', onDrop);
    };
  }, [take]);
  return isOver;
}

function KeyForm({ keep }: { readonly keep: (key: string) => void }): JSX.Element {
  const { error, onSubmit } = useFormSending((form) => {
    const key = textOf(form, 'key').trim();
    try {
      keysIn(key);
    } catch (reason) {
      const why = reason instanceof Error ? reason.message : String(reason);
      return Promise.reject(new Fault(`This is not a public key: ${why}.`, 'Take it as the service printed it.'));
    }
    keep(key);
    return Promise.resolve();
  });
  return (
    <form class="log-key" onSubmit={onSubmit}>
      <label>
        Public key of the log
        <input name="key" required spellcheck={false} autocomplete="off" placeholder="name+1f2e3d4c+AQ…" />
      </label>
      <button type="submit">Keep it in this browser</button>
      <p class="help">
        Take it from where you keep it: a file cannot vouch for itself. Whoever runs the service gives it to you once.
      </p>
      {error === null ? null : <Problem error={error} />}
    </form>
  );
}

interface RecomputedProps {
  /** Name of the file. */
  readonly name: string;
  readonly result: Result;
}

function RecomputeResult({ name, result }: RecomputedProps): JSX.Element {
  const { executionId, decisionId, checkpoint, rules, steps, notes, recomputed: isAsRecorded } = result;
  return (
    <div class="recomputed" role="region" aria-label="What the file says">
      <h3 class="exact">{showInvisible(name)}</h3>
      {executionId === null ? null : <p>Execution {showInvisible(executionId)}</p>}
      {decisionId === null ? null : <p>Change {showInvisible(decisionId)}</p>}
      {checkpoint === null ? null : (
        <p>
          In a checkpoint of {countText(checkpoint.size, 'entry', 'entries')} of {showInvisible(checkpoint.origin)},
          root <code class="hash">{checkpoint.rootHash}</code>
        </p>
      )}
      {rules.map(({ hash, policies, defaultEffect }) => (
        <p key={hash}>
          Rules <code class="hash">{hash}</code>: {countText(policies, 'policy', 'policies')} in force, default{' '}
          {defaultEffect}
        </p>
      ))}
      <ol class="story">
        {steps.map(({ sequence, timestamp, action, sentences }) => (
          <li key={sequence}>
            <LocalTime iso={timestamp} />{' '}
            <strong>
              Entry {sequence}, {showInvisible(action)}
            </strong>
            {sentences.map((sentence, index) => (
              <p key={index}>{showInvisible(sentence)}</p>
            ))}
          </li>
        ))}
      </ol>
      {wrongs(result).map((wrong, index) => (
        <p key={index} class="notice bad">
          {showInvisible(wrong)}
        </p>
      ))}
      {notes.map((note) => (
        <p key={note} class="help">
          {note}
        </p>
      ))}
      <p class={`notice ${isAsRecorded ? 'good' : 'bad'}`} role={isAsRecorded ? 'status' : 'alert'}>
        <strong>{showInvisible(verdictOf(result))}</strong>
      </p>
    </div>
  );
}
