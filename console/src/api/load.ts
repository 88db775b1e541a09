import { useCallback, useEffect, useRef, useState } from 'preact/hooks';

/** What was asked for: what came, or why not; `data` stays while it is asked for again. */
export interface Loaded<Data> {
  readonly data: Data | null;
  readonly error: unknown;
  readonly loading: boolean;
  reload(this: void): void;
  /** Asks again, and puts a different answer in place of the one that is shown. Answers whether it is the same. @throws what asking does. */
  confirm(this: void): Promise<boolean>;
}

/** Asks when the page needs it, and again when one of `inputs` changes; the answer to an older question is dropped. */
export function useLoad<Data>(ask: (signal: AbortSignal) => Promise<Data>, inputs: readonly unknown[]): Loaded<Data> {
  const [state, setState] = useState<Omit<Loaded<Data>, 'reload' | 'confirm'>>({
    data: null,
    error: null,
    loading: true,
  });
  const latest = useRef(ask);
  latest.current = ask;
  const shown = useRef<Data | null>(null);
  shown.current = state.data;
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
  const confirm = useCallback(async () => {
    running.current?.abort();
    const asking = new AbortController();
    running.current = asking;
    const isOver = (): boolean => asking.signal.aborted;
    try {
      const data = await latest.current(asking.signal);
      const isSame = JSON.stringify(data) === JSON.stringify(shown.current);
      if (!isOver()) setState((now) => ({ data: isSame ? now.data : data, error: null, loading: false }));
      return isSame && !isOver();
    } catch (error) {
      if (!isOver()) setState(({ data }) => ({ data, error, loading: false }));
      throw error;
    }
  }, []);
  useEffect(() => {
    start(false);
    return () => running.current?.abort();
  }, inputs);
  return { ...state, confirm, reload: useCallback(() => start(true), [start]) };
}
