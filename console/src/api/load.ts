import { useCallback, useEffect, useRef, useState } from 'preact/hooks';

/** The state of a request: its data, or its error. `data` stays during a reload. */
export interface LoadState<Data> {
  readonly data: Data | null;
  readonly error: unknown;
  readonly loading: boolean;
  reload(this: void): void;
  /** Loads again if the last request failed, even if the page has not been rendered since. */
  retry(this: void): void;
  /**
   * Loads again. Returns null if the new data is as good as the data that is shown, which then stays; otherwise returns
   * the new data, which is shown from then on. @throws errors of the request.
   */
  confirm(this: void, isAsGood?: Comparison<Data>): Promise<Change<Data> | null>;
}

/** Data that took the place of what was shown. */
export interface Change<Data> {
  readonly before: Data | null;
  readonly now: Data;
}

type Comparison<Data> = (now: Data, before: Data | null) => boolean;

/** True if two values are equal, member by member. */
export function isEqual(left: unknown, right: unknown): boolean {
  return JSON.stringify(left) === JSON.stringify(right);
}

/**
 * Loads data for the page, and again when one of `inputs` changes; late answers to older requests are dropped. When
 * `depth` changes, the data that is shown stays until more, or less, of the same is loaded.
 */
export function useLoad<Data>(
  load: (signal: AbortSignal) => Promise<Data>,
  inputs: readonly unknown[],
  depth?: unknown,
): LoadState<Data> {
  const [state, setState] = useState<Pick<LoadState<Data>, 'data' | 'error' | 'loading'>>({
    data: null,
    error: null,
    loading: true,
  });
  const latest = useRef(load);
  latest.current = load;
  const currentData = useRef<Data | null>(null);
  currentData.current = state.data;
  const hasFailed = useRef(false);
  const running = useRef<AbortController | null>(null);
  const fail = useCallback((error: unknown) => {
    hasFailed.current = true;
    setState(({ data }) => ({ data, error, loading: false }));
  }, []);
  const start = useCallback((keepsData: boolean) => {
    running.current?.abort();
    const controller = new AbortController();
    running.current = controller;
    hasFailed.current = false;
    setState(({ data }) => ({ data: keepsData ? data : null, error: null, loading: true }));
    latest.current(controller.signal).then(
      (data) => {
        if (!controller.signal.aborted) setState({ data, error: null, loading: false });
      },
      (error: unknown) => {
        if (!controller.signal.aborted) fail(error);
      },
    );
  }, []);
  const confirm = useCallback(async (isAsGood: Comparison<Data> = isEqual) => {
    running.current?.abort();
    const controller = new AbortController();
    running.current = controller;
    const isOver = (): boolean => controller.signal.aborted;
    try {
      const now = await latest.current(controller.signal);
      const before = currentData.current;
      const stays = isAsGood(now, before);
      if (!isOver()) {
        hasFailed.current = false;
        setState(({ data }) => ({ data: stays ? data : now, error: null, loading: false }));
      }
      return stays && !isOver() ? null : { before, now };
    } catch (error) {
      if (!isOver()) fail(error);
      throw error;
    }
  }, []);
  const lastInputs = useRef<readonly unknown[]>([]);
  useEffect(() => {
    const keepsData = inputs.every(
      (input, index) => index in lastInputs.current && input === lastInputs.current[index],
    );
    lastInputs.current = inputs;
    start(keepsData);
    return () => running.current?.abort();
  }, [...inputs, depth]);
  const reload = useCallback(() => start(true), [start]);
  const retry = useCallback(() => {
    if (hasFailed.current) start(true);
  }, [start]);
  return { ...state, confirm, reload, retry };
}

/** Loads again at intervals of so many milliseconds, unless an answer is still on its way or the page is hidden. */
export function useReloads({ loading, reload }: LoadState<unknown>, every: number, isWanted = true): void {
  const isLoading = useRef(loading);
  isLoading.current = loading;
  useEffect(() => {
    if (!isWanted) return;
    const timer = setInterval(() => {
      if (!isLoading.current && !document.hidden) reload();
    }, every);
    return () => clearInterval(timer);
  }, [reload, every, isWanted]);
}
