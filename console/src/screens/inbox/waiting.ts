import { useRef, useState } from 'preact/hooks';
import { useFeed } from '../../api/use-feed.js';
import { type LoadState, useLoad } from '../../api/load.js';
import { requiredContext } from '../../api/required-context.js';
import { type Session, useSession } from '../../api/session.js';
import type { Decision, Execution } from '../../api/types.js';
import type { Executions } from './groups.js';
import { type Selection, useSelection } from './selection.js';

/** Number of decisions that are loaded at first, and added by `showMore`. */
const PAGE_SIZE = 100;
/** The maximum page length of the API. */
const MAX_PAGE_SIZE = 1_000;

export type Order = 'desc' | 'asc';

interface Page {
  readonly data: readonly Decision[];
  readonly total: number;
}

/** The pending decisions: those that the person can approve now, and all of them. */
export interface PendingPages {
  /** Null if the caller is bound to no agent or lacks the scope `review`. */
  readonly mine: Page | null;
  /** All pending decisions, including those in `mine`. Empty if only the count is loaded and `mine` has it. */
  readonly all: Page;
}

export interface WaitingList {
  readonly pending: LoadState<PendingPages>;
  /** Number of decisions that wait for the person; number of all pending decisions if `mine` is null. */
  readonly count: number;
  readonly order: Order;
  readonly canShowMore: boolean;
  /** True if more decisions are pending than one page can show. */
  readonly isCut: boolean;
  readonly executions: Executions;
  readonly selection: Selection;
  sort(this: void, order: Order): void;
  showMore(this: void): void;
  /** Loads the maximum number of decisions, so that a search covers as many as possible. */
  showMost(this: void): void;
}

export const [WaitingProvider, useWaitingList] = requiredContext<WaitingList>('The inbox is not loaded here.');

/** Loads the pending decisions. Every screen shows their count; the list is loaded only if `isShown` is true. */
export function useLoadedWaitingList(isShown: boolean): WaitingList {
  const session = useSession();
  const [order, sort] = useState<Order>('desc');
  const [depth, setDepth] = useState(PAGE_SIZE);
  const limit = isShown ? depth : 1;
  const selection = useSelection();
  const pending = useLoad((signal) => load(session, limit, order, signal), [session, isShown], `${depth} ${order}`);
  useFeed(pending.reload, ({ action }) => action.startsWith('decision.'));
  const executions = useExecutions(isShown ? pending.data : null, order);
  const { data } = pending;
  // The last count is shown until the next one is loaded.
  const count = useRef(0);
  if (data !== null) count.current = (data.mine ?? data.all).total;
  const hasMore = data !== null && data.all.total > data.all.data.length;
  return {
    pending,
    order,
    sort,
    executions,
    selection,
    count: count.current,
    canShowMore: hasMore && depth < MAX_PAGE_SIZE,
    isCut: hasMore && depth >= MAX_PAGE_SIZE,
    showMore: () => setDepth((previous) => Math.min(previous + PAGE_SIZE, MAX_PAGE_SIZE)),
    showMost: () => setDepth(MAX_PAGE_SIZE),
  };
}

async function load(
  { client, me, has }: Session,
  limit: number,
  order: Order,
  signal: AbortSignal,
): Promise<PendingPages> {
  const nothing: Page = { data: [], total: 0 };
  if (!has('review', 'read', 'propose')) return { mine: null, all: nothing };
  const { agentId } = me;
  const mayReview = agentId !== null && has('review');
  // Both requests have the same order, so each decision of the person in `all` is also in `mine`.
  const [mine, all] = await Promise.all([
    mayReview ? client.get('/api/v1/decisions', { query: { awaiting: agentId, limit, order }, signal }) : null,
    mayReview && limit === 1
      ? nothing
      : client.get('/api/v1/decisions', { query: { status: 'proposed', limit, order }, signal }),
  ]);
  return { mine, all };
}

/**
 * Maps decision ids to the executions that wait for these decisions. Loads one page of executions whenever a decision
 * is new. The page has most of the executions; a row whose execution is missing shows the arguments once it is opened.
 * The map stays while another screen is shown.
 */
function useExecutions(data: PendingPages | null, order: Order): Executions {
  const { patientClient, has } = useSession();
  const executions = useRef(new Map<string, Execution>());
  const decisions = [...(data?.mine?.data ?? []), ...(data?.all.data ?? [])];
  const missing = decisions.filter(({ id, executionId }) => executionId !== null && !executions.current.has(id));
  const limit = Math.min(MAX_PAGE_SIZE, Math.max(2 * PAGE_SIZE, decisions.length));
  useLoad(
    async (signal) => {
      if (missing.length === 0 || !has('read', 'execute', 'review')) return;
      const query = { outcome: 'pending_approval', limit, order } as const;
      const page = await patientClient.get('/api/v1/executions', { query, signal });
      const ids = new Set(decisions.map(({ id }) => id));
      for (const id of executions.current.keys()) if (!ids.has(id)) executions.current.delete(id);
      for (const execution of page.data) executions.current.set(execution.decisionId ?? '', execution);
    },
    [patientClient, missing.map(({ id }) => id).join(' ')],
  );
  return executions.current;
}
