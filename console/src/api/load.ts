import { useCallback, useEffect, useRef, useState } from 'preact/hooks';

/** What was asked for: what came, or why not; `data` stays while it is asked for again. */
export interface Loaded<Data> {
  readonly data: Data | null;
  readonly error: unknown;
  readonly loading: boolean;
  reload(this: void): void;
}

/** Asks when the page needs it, and again when one of `inputs` changes; the answer to an older question is dropped. */
export function useLoad<Data>(ask: (signal: AbortSignal) => Promise<Data>, inputs: readonly unknown[]): Loaded<Data> {
  const [state, setState] = useState<Omit<Loaded<Data>, 'reload'>>({ data: null, error: null, loading: true });
  const latest = useRef(ask);
  latest.current = ask;
  const running = useRef<AbortController | null>(null);
  const start = useCallback((keeps: boolean) => {
    running.current?.abort();
    const asking = new AbortController();
    running.current = asking;
    setState(({ data }) => ({ data: keeps ? data : null, error: null, loading: true }));
    latest.current(asking.signal).then(
      (data) => {
        if (!asking.signal.aborted) setState({ data, error: null, loading: false });
      },
      (error: unknown) => {
        if (!asking.signal.aborted) setState(({ data }) => ({ data, error, loading: false }));
      },
    );
  }, []);
  useEffect(() => {
    start(false);
    return () => running.current?.abort();
  }, inputs);
  return { ...state, reload: useCallback(() => start(true), [start]) };
}
