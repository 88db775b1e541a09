import { createContext } from 'preact';
import { useCallback, useContext, useLayoutEffect, useRef } from 'preact/hooks';

/**
 * What has to be as it is shown when somebody approves. Further claims and further requests may go on faster than anybody
 * reads: whoever has looked again and again may approve without those that come last.
 */
export type Scrutiny = 'everything' | 'all but additions';

/** Something that is not as it was shown. */
export interface Difference {
  readonly words: string;
  /** Whether it only adds to what was shown, and says nothing about the values in the request. */
  readonly isAddition: boolean;
}

/** Loads again what the scrutiny asks for, shows what is different, and returns that. */
export type Check = (scrutiny: Scrutiny) => Promise<readonly Difference[]>;

/** Registers what has to be reloaded before an approval; returns a function that unregisters it. */
export const ConfirmContext = createContext<(check: Check) => () => void>(() => () => undefined);

/** Before an approval, asks `check` whether what it loaded is still current. */
export function useConfirm(check: Check): void {
  const register = useContext(ConfirmContext);
  const latest = useRef(check);
  latest.current = check;
  useLayoutEffect(() => register((scrutiny) => latest.current(scrutiny)), [register]);
}

interface Checks {
  readonly register: (check: Check) => () => void;
  readonly run: Check;
}

export function useChecks(): Checks {
  const registered = useRef(new Set<Check>());
  const register = useCallback((check: Check) => {
    registered.current.add(check);
    return () => void registered.current.delete(check);
  }, []);
  const run = useCallback(async (scrutiny: Scrutiny) => {
    const differences = await Promise.all([...registered.current].map((check) => check(scrutiny)));
    return differences.flat();
  }, []);
  return { register, run };
}
