import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { requiredContext } from '../api/required-context.js';
import { focusScreen } from './focus.js';
import { confirmBeforeLeaving } from './leaving.js';

interface IssuedKey {
  readonly name: string;
  readonly secret: string;
}

/** Keys that were issued together. */
export interface IssuedKeys {
  readonly title: string;
  readonly advice: string;
  readonly keys: readonly IssuedKey[];
}

/** The issued keys that nobody has said to have saved. */
export interface UnsavedKeys {
  readonly batches: readonly IssuedKeys[];
  /** Whether keys are shown or on their way, and would be lost with the page. */
  readonly areAtRisk: boolean;
  /** Shows the keys that `issue` returns, whatever becomes of the screen, or of the session, meanwhile. */
  receive(this: void, issue: () => Promise<IssuedKeys>): Promise<void>;
  save(this: void, keys: IssuedKeys): void;
  /** Those on their way will not be shown either. */
  forget(this: void): void;
}

export const [UnsavedKeysProvider, useUnsavedKeys] = requiredContext<UnsavedKeys>('No keys are kept here.');

/** Keys that are shown, or on their way: then null. */
interface Batch {
  readonly number: number;
  readonly keys: IssuedKeys | null;
}

/**
 * Kept above the session, since a secret is shown only once: it must not be lost with the screen that requested it, nor
 * when the service ends the session. It then stays on the sign-in page, where whoever sits there saw it a moment ago;
 * dropped, it would leave a valid key that nobody holds. It goes when somebody says that it is saved, signs out or
 * closes the page, and is stored nowhere.
 */
export function useKeptKeys(): UnsavedKeys {
  const [batches, setBatches] = useState<readonly Batch[]>([]);
  const last = useRef(0);
  const areAtRisk = batches.length > 0;
  useEffect(() => (areAtRisk ? confirmBeforeLeaving() : undefined), [areAtRisk]);
  const receive = async (issue: () => Promise<IssuedKeys>): Promise<void> => {
    const number = ++last.current;
    setBatches((now) => [...now, { number, keys: null }]);
    try {
      const keys = await issue();
      setBatches((now) => now.map((batch) => (batch.number === number ? { number, keys } : batch)));
    } catch (error) {
      setBatches((now) => now.filter((batch) => batch.number !== number));
      throw error;
    }
  };
  return {
    batches: batches.flatMap(({ keys }) => keys ?? []),
    areAtRisk,
    receive,
    save: (keys) => setBatches((now) => now.filter((batch) => batch.keys !== keys)),
    forget: () => setBatches([]),
  };
}

/** Above whichever screen is shown, and on the sign-in page. */
export function UnsavedKeyList(): JSX.Element {
  const { batches, save } = useUnsavedKeys();
  return (
    <>
      {batches.map((keys) => (
        <Notice key={keys.keys[0]?.secret} keys={keys} save={() => save(keys)} />
      ))}
    </>
  );
}

interface NoticeProps {
  readonly keys: IssuedKeys;
  readonly save: () => void;
}

function Notice({ keys: { title, advice, keys }, save }: NoticeProps): JSX.Element {
  const notice = useRef<HTMLDivElement>(null);
  // The form that requested it may be far below. Nobody who is typing elsewhere is interrupted.
  useLayoutEffect(() => {
    if (document.activeElement?.matches('input, select, textarea') !== true) notice.current?.focus();
  }, []);
  const onSaved = (): void => {
    save();
    focusScreen();
  };
  const [pronoun, stays] = keys.length === 1 ? ['it', 'It stays'] : ['them', 'They stay'];
  return (
    <div ref={notice} class="notice good issued" role="status" tabIndex={-1}>
      <p>
        <strong>{title}</strong> {advice} {stays} here until you have saved {pronoun}, sign out or close the page.
      </p>
      <dl class="pairs">
        {keys.map(({ name, secret }) => (
          <Secret key={secret} name={name} secret={secret} />
        ))}
      </dl>
      <button type="button" onClick={onSaved}>
        I have saved {pronoun}
      </button>
    </div>
  );
}

function Secret({ name, secret }: IssuedKey): JSX.Element {
  return (
    <>
      <dt>{name}</dt>
      <dd>
        <code>{secret}</code>
      </dd>
    </>
  );
}
