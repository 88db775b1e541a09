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

/** The issued keys that nobody has confirmed to have saved. */
export interface UnsavedKeys {
  readonly batches: readonly IssuedKeys[];
  /** True if keys are shown or being issued: they would be lost with the page. */
  readonly areAtRisk: boolean;
  /** Shows the keys that `issue` returns, even if the screen is left, or the session ends, meanwhile. */
  receive(this: void, issue: () => Promise<IssuedKeys>): Promise<void>;
  save(this: void, keys: IssuedKeys): void;
  /** Drops the shown keys. Keys that are still being issued will not be shown either. */
  forget(this: void): void;
}

export const [UnsavedKeysProvider, useUnsavedKeys] = requiredContext<UnsavedKeys>('No keys are kept here.');

/** Keys that are shown; null for keys that are still being issued. */
interface Batch {
  readonly number: number;
  readonly keys: IssuedKeys | null;
}

/**
 * Keeps issued keys above the session. A secret is shown only once, so it must not be lost with the screen that
 * requested it, nor when the service ends the session. In that case it stays on the sign-in page, whose reader saw it a
 * moment ago; if it were dropped, a valid key would be left that nobody holds. A key is dropped when the person
 * confirms that it is saved, signs out or closes the page. It is stored nowhere.
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

/** Shows the keys above every screen, and on the sign-in page. */
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
  // Moves the focus to the keys, since the form that requested them may be far below, unless the person is typing
  // elsewhere.
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
