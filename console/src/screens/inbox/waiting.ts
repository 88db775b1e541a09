import { useRef, useState } from 'preact/hooks';
import { useFeed } from '../../api/use-feed.js';
import { type Loaded, useLoad } from '../../api/load.js';
import { requiredContext } from '../../api/required-context.js';
import { type Session, useSession } from '../../api/session.js';
import type { Decision, Execution } from '../../api/types.js';

const PAGE = 50;
/** The maximum page length of the API. */
const LONGEST = 1_000;

export type Order = 'desc' | 'asc';

interface Page {
  readonly data: readonly Decision[];
  readonly total: number;
}

/** The pending decisions: those that the person can approve now, and all of them. */
export interface Pending {
  /** Null for a caller that is bound to no agent. */
  readonly mine: Page | null;
  readonly all: Page;
}

export interface Waiting {
  readonly pending: Loaded<Pending>;
  /** How many wait for the person; all of them for a caller that is bound to no agent. */
  readonly count: number;
  readonly order: Order;
  readonly canShowMore: boolean;
  /** Whether more are pending than the page can show. */
  readonly isCut: boolean;
  sort(this: void, order: Order): void;
  showMore(this: void): void;
  /** For a search in all that is pending. */
  showMost(this: void): void;
}

export const [WaitingProvider, useWaitingHere] = requiredContext<Waiting>('The inbox is not loaded here.');

/** Maintained for every screen, since all show the count; the list itself is loaded only where it is `shown`. */
export function useWaiting(shown: boolean): Waiting {
  const session = useSession();
  const [order, sort] = useState<Order>('desc');
  const [depth, setDepth] = useState(PAGE);
  const limit = shown ? depth : 1;
  const pending = useLoad((signal) => load(session, limit, order, signal), [session, shown], `${depth} ${order}`);
  useFeed(pending.reload, ({ action }) => action.startsWith('decision.'));
  const { data } = pending;
  // The last count is shown until the next one is loaded.
  const count = useRef(0);
  if (data !== null) count.current = (data.mine ?? data.all).total;
  const hasMore = data !== null && data.all.total > data.all.data.length;
  return {
    pending,
    order,
    sort,
    count: count.current,
    canShowMore: hasMore && depth < LONGEST,
    isCut: hasMore && depth >= LONGEST,
    showMore: () => setDepth((now) => Math.min(now + PAGE, LONGEST)),
    showMost: () => setDepth(LONGEST),
  };
}

async function load({ client, me, has }: Session, limit: number, order: Order, signal: AbortSignal): Promise<Pending> {
  const nothing: Page = { data: [], total: 0 };
  if (!has('review', 'read', 'propose')) return { mine: null, all: nothing };
  const { agentId } = me;
  const mayReview = agentId !== null && has('review');
  // Both lists have the same order, so the person's decisions on the page of all are also on the person's page.
  const [mine, all] = await Promise.all([
    mayReview ? client.get('/api/v1/decisions', { query: { awaiting: agentId, limit, order }, signal }) : null,
    mayReview && limit === 1
      ? nothing
      : client.get('/api/v1/decisions', { query: { status: 'proposed', limit, order }, signal }),
  ]);
  return { mine, all };
}

/**
 * What waits for the decisions, by their ids: asked for once where one is new, and shown when it arrives. One page has most of it;
 * a row whose arguments are not on it shows them when it is opened.
 */
export function useExecutions({ data }: Loaded<Pending>, order: Order): ReadonlyMap<string, Execution> {
  const { patientClient, has } = useSession();
  const known = useRef(new Map<string, Execution>());
  const shown = [...(data?.mine?.data ?? []), ...(data?.all.data ?? [])];
  const missing = shown.filter(({ id, executionId }) => executionId !== null && !known.current.has(id));
  const limit = Math.min(LONGEST, Math.max(4 * PAGE, shown.length));
  useLoad(
    async (signal) => {
      if (missing.length === 0 || !has('read', 'execute', 'review')) return;
      const query = { outcome: 'pending_approval', limit, order } as const;
      const page = await patientClient.get('/api/v1/executions', { query, signal });
      for (const execution of page.data) known.current.set(execution.decisionId ?? '', execution);
    },
    [patientClient, missing.map(({ id }) => id).join(' ')],
  );
  return known.current;
}
