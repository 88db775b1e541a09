import { createContext } from 'preact';
import { useCallback, useContext, useLayoutEffect, useRef } from 'preact/hooks';

/**
 * The content that has to be as it is shown when somebody approves. Claims and requests may be added faster than
 * anybody reads, so whoever has looked several times may approve without the last additions.
 */
export type Scrutiny = 'everything' | 'all but additions';

/** Something that is not as it was shown. */
export interface Difference {
  readonly words: string;
  /** True if it only adds to what was shown, and says nothing about the values in the request. */
  readonly isAddition: boolean;
}

/** Loads the data of the scrutiny again, shows the differences, and returns them. */
export type Check = (scrutiny: Scrutiny) => Promise<readonly Difference[]>;

interface RegisteredCheck {
  readonly check: Check;
  /** Loads the data again if loading it failed. */
  readonly retry: () => void;
}

/** Registers what has to be reloaded before an approval; returns a function that unregisters it. */
export const ConfirmContext = createContext<(checked: RegisteredCheck) => () => void>(() => () => undefined);

/** Before an approval, `check` compares the loaded data with the current; if that fails, `retry` loads it again. */
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
  readonly register: (checked: RegisteredCheck) => () => void;
  readonly run: Check;
  readonly retry: () => void;
}

export function useChecks(): Checks {
  const checks = useRef(new Set<RegisteredCheck>());
  const register = useCallback((checked: RegisteredCheck) => {
    checks.current.add(checked);
    return () => void checks.current.delete(checked);
  }, []);
  const run = useCallback(async (scrutiny: Scrutiny) => {
    const differences = await allEnded(...[...checks.current].map(({ check }) => check(scrutiny)));
    return differences.flat();
  }, []);
  const retry = useCallback(() => checks.current.forEach((checked) => checked.retry()), []);
  return { register, run, retry };
}
