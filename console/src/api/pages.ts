import { useRef, useState } from 'preact/hooks';
import { type LoadState, useLoad } from './load.js';
import { useSession } from './session.js';

/** Rows of the first page, and of each further one. */
const PAGE = 50;

export interface Page<Row> {
  readonly data: readonly Row[];
  readonly total: number;
  readonly nextCursor?: string;
}

/** The loaded part of a list, newest first. */
export interface Pages<Row> extends LoadState<Page<Row>> {
  /** True if more than the first page is shown; reloading shows the first page alone. */
  readonly isDeep: boolean;
  /** Why further rows could not be loaded. */
  readonly problem: unknown;
  /** Loads the page after the rows that are shown; null at the end. */
  readonly more: (() => Promise<void>) | null;
}

type Query<Filter> = (Filter & { readonly order: 'desc'; readonly limit: number }) | { cursor: string; limit: number };

/**
 * Loads a list a page at a time, each by the cursor of the one before it, and from its first page with another filter.
 */
export function usePages<Row, Filter extends object>(
  filter: Filter,
  ask: (query: Query<Filter>, signal: AbortSignal) => Promise<Page<Row>>,
): Pages<Row> {
  const { client } = useSession();
  const [later, setLater] = useState<Page<Row> | null>(null);
  const [problem, setProblem] = useState<unknown>(null);
  const first = useLoad(
    async (signal) => {
      const page = await ask({ ...filter, order: 'desc', limit: PAGE }, signal);
      setLater(null);
      setProblem(null);
      return page;
    },
    [client, JSON.stringify(filter)],
  );
  const cursor = (later ?? first.data)?.nextCursor;
  const current = useRef(cursor);
  current.current = cursor;
  const more = async (from: string): Promise<void> => {
    setProblem(null);
    try {
      const page = await ask({ cursor: from, limit: PAGE }, new AbortController().signal);
      // The list may have started again in the meantime.
      if (current.current === from) setLater((now) => ({ ...page, data: [...(now?.data ?? []), ...page.data] }));
    } catch (error) {
      setProblem(error);
    }
  };
  return {
    ...first,
    data: first.data === null || later === null ? first.data : { ...later, data: [...first.data.data, ...later.data] },
    isDeep: later !== null,
    problem,
    more: cursor === undefined ? null : () => more(cursor),
  };
}
