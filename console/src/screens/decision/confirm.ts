import { createContext } from 'preact';
import { useCallback, useContext, useEffect, useRef } from 'preact/hooks';

type Check = () => Promise<boolean>;

/** Collects what is loaded again before anybody approves; answers what ends that. */
export const ConfirmContext = createContext<(check: Check) => () => void>(() => () => undefined);

/** Has `check` answer, before anybody approves, whether what it loaded is still so. */
export function useConfirm(check: Check): void {
  const register = useContext(ConfirmContext);
  useEffect(() => register(check), [register, check]);
}

interface Checks {
  readonly register: (check: Check) => () => void;
  /** Whether all that is shown is still so. */
  readonly areConfirmed: (checks: readonly Check[]) => Promise<boolean>;
}

export function useChecks(): Checks {
  const registered = useRef(new Set<Check>());
  const register = useCallback((check: Check) => {
    registered.current.add(check);
    return () => void registered.current.delete(check);
  }, []);
  const areConfirmed = useCallback(async (checks: readonly Check[]) => {
    const answers = await Promise.all([...checks, ...registered.current].map((check) => check()));
    return answers.every(Boolean);
  }, []);
  return { register, areConfirmed };
}
