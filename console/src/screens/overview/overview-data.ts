import { serviceNow } from '../../api/clock.js';
import type { Session } from '../../api/session.js';
import type { Agent, Decision, Oversight, Stop, UnreviewedAgents } from '../../api/types.js';
import { reportPeriod, type Chosen } from './period.js';

/** Maximum number of agents, the newest, that are searched for observed ones. */
export const MAX_AGENTS = 1_000;

/**
 * The data of the overview: the report on a period, and current numbers. A member is null if the key may not read it.
 */
export interface Look {
  readonly report: Oversight;
  readonly waiting: { readonly data: readonly Decision[]; readonly total: number } | null;
  readonly agents: { readonly data: readonly Agent[]; readonly total: number } | null;
  /** The agents whose present access nobody has reviewed. */
  readonly unreviewed: UnreviewedAgents | null;
  readonly stops: { readonly data: readonly Stop[]; readonly total: number };
}

export async function look({ client, slowClient, has }: Session, chosen: Chosen, signal: AbortSignal): Promise<Look> {
  const query = { ...reportPeriod(chosen, serviceNow()) };
  const waits = { status: 'proposed', limit: 1, order: 'asc' } as const;
  const machines = { kind: 'machine', limit: MAX_AGENTS, order: 'desc' } as const;
  const [report, waiting, agents, unreviewed, stops] = await Promise.all([
    slowClient.get('/api/v1/reports/oversight', { query, signal }),
    has('read', 'review', 'propose') ? client.get('/api/v1/decisions', { query: waits, signal }) : null,
    has('read') ? client.get('/api/v1/agents', { query: machines, signal }) : null,
    has('read') ? client.get('/api/v1/access-reviews', { signal }) : null,
    client.get('/api/v1/stops', { query: { status: 'active', limit: 1 }, signal }),
  ]);
  return { report, waiting, agents, unreviewed, stops };
}
