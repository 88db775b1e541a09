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

interface Checked {
  readonly check: Check;
  /** Loads it again if that failed. */
  readonly retry: () => void;
}

/** Registers what has to be reloaded before an approval; returns a function that unregisters it. */
export const ConfirmContext = createContext<(checked: Checked) => () => void>(() => () => undefined);

/** Before an approval, asks `check` whether what it loaded is still current; if that fails, it is loaded again by `retry`. */
export function useConfirm(check: Check, retry: () => void): void {
  const register = useContext(ConfirmContext);
  const latest = useRef(check);
  latest.current = check;
  useLayoutEffect(() => register({ check: (scrutiny) => latest.current(scrutiny), retry }), [register, retry]);
}

/** Waits for all of them, even if one fails: the others may fail later. @throws the error of the first that failed. */
export async function allEnded<Results extends readonly unknown[]>(
  ...running: { [Index in keyof Results]: Promise<Results[Index]> }
): Promise<Results> {
  await Promise.allSettled(running);
  return Promise.all(running);
}

interface Checks {
  readonly register: (checked: Checked) => () => void;
  readonly run: Check;
  readonly retry: () => void;
}

export function useChecks(): Checks {
  const registered = useRef(new Set<Checked>());
  const register = useCallback((checked: Checked) => {
    registered.current.add(checked);
    return () => void registered.current.delete(checked);
  }, []);
  const run = useCallback(async (scrutiny: Scrutiny) => {
    const differences = await allEnded(...[...registered.current].map(({ check }) => check(scrutiny)));
    return differences.flat();
  }, []);
  const retry = useCallback(() => registered.current.forEach((checked) => checked.retry()), []);
  return { register, run, retry };
}
