import { createContext, type JSX } from 'preact';
import { useContext, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { focusScreen } from '../../ui/focus.js';
import { revealed } from '../../ui/format.js';

export interface IssuedKey {
  readonly name: string;
  readonly secret: string;
}

/** The issued keys that nobody has said to have saved. */
export interface UnsavedKeys {
  readonly keys: readonly IssuedKey[];
  add(this: void, key: IssuedKey): void;
  saved(this: void, key: IssuedKey): void;
}

export const UnsavedKeysContext = createContext<UnsavedKeys | null>(null);

export function useUnsavedKeys(): UnsavedKeys {
  const unsaved = useContext(UnsavedKeysContext);
  if (unsaved === null) throw new Error('No keys are kept here.');
  return unsaved;
}

/** Kept for every screen: a secret is shown only once, and must not be lost with the screen that asked for it. */
export function useKeptKeys(): UnsavedKeys {
  const [keys, setKeys] = useState<readonly IssuedKey[]>([]);
  return {
    keys,
    add: (key) => setKeys((now) => [...now, key]),
    saved: (key) => setKeys((now) => now.filter((other) => other !== key)),
  };
}

/** Above whichever screen is shown. */
export function UnsavedKeyList(): JSX.Element {
  const { keys, saved } = useUnsavedKeys();
  return (
    <>
      {keys.map((key) => (
        <UnsavedKey key={key.secret} of={key} saved={() => saved(key)} />
      ))}
    </>
  );
}

function UnsavedKey({
  of: { name, secret },
  saved,
}: {
  readonly of: IssuedKey;
  readonly saved: () => void;
}): JSX.Element {
  const notice = useRef<HTMLDivElement>(null);
  // The form that asked for it may be far below.
  useLayoutEffect(() => notice.current?.focus(), []);
  const onSaved = (): void => {
    saved();
    focusScreen();
  };
  return (
    <div ref={notice} class="notice good issued" role="status" tabIndex={-1}>
      <p>
        <strong>The key {revealed(name)} is issued. Its secret is shown only once:</strong> copy it now and give it to
        its holder. It stays here until you have saved it, sign out or close the page.
      </p>
      <p>
        <code>{secret}</code>
      </p>
      <button type="button" onClick={onSaved}>
        I have saved it
      </button>
    </div>
  );
}
