import { setTimeout as sleep } from 'node:timers/promises';
import { type GovernanceClient, GovernanceError, type Schemas } from '../../../typescript/src/index.js';
import { isCovering } from '../covering-stops.js';
import type { ToolRequest } from './mapping.js';

/** Seconds for which the service holds a question for its stops: less than the 60 after which many proxies cut a request. */
const WAIT = 50;
/** Pause in milliseconds after a failed long poll. */
const PAUSE = 5_000;
const LONGEST_PAGE = 1_000;

type RunningCall = ToolRequest & { readonly agent: string };

export interface StopsSource {
  readonly url: string;
  readonly key: string;
  readonly fetch: typeof globalThis.fetch;
}

/** Somebody stopped the agent of a call while it ran. */
export class StoppedError extends Error {}

/**
 * Holds one wait for the service's stops from the first call on, and cancels the calls that a stop covers. While the key's own agent is
 * suspended, the service tells that key of no stop, so all calls are cancelled.
 */
export class StopWatch {
  private readonly calls = new Map<AbortController, RunningCall>();
  private readonly ending = new AbortController();
  private isWatching = false;

  constructor(
    private readonly governance: GovernanceClient,
    private readonly source: StopsSource,
  ) {}

  /** Runs a call with a signal that fires when it is stopped: from before it is authorised, so that no stop falls between. */
  async during<Result>(asked: RunningCall, call: (stopped: AbortSignal) => Promise<Result>): Promise<Result> {
    const controller = new AbortController();
    this.calls.set(controller, asked);
    if (!this.isWatching) void this.watch();
    try {
      return await call(controller.signal);
    } finally {
      this.calls.delete(controller);
    }
  }

  close(): void {
    this.ending.abort();
  }

  private async watch(): Promise<void> {
    this.isWatching = true;
    const { signal } = this.ending;
    for (let held: string | null = null; !signal.aborted;) {
      try {
        const askedAt = performance.now();
        const answer = await this.stops(held);
        if (answer.status === 200) await this.cancelStopped();
        // Beyond its limit of waits the service answers at once.
        else if (answer.status === 304 && performance.now() - askedAt < PAUSE) await this.pause();
        else if (await isSuspended(answer)) this.cancel([...this.calls.keys()]);
        if (answer.status >= 400) throw new Error(`GET /stops answered ${answer.status}.`);
        held = answer.headers.get('ETag');
      } catch {
        // The service refuses what a stop covers, whether this is known here or not.
        held = null;
        await this.pause();
      }
    }
  }

  /** Ends early when the watch is closed. */
  private async pause(): Promise<void> {
    const { signal } = this.ending;
    await sleep(PAUSE, undefined, { signal, ref: false }).catch(() => undefined);
  }

  private stops(held: string | null): Promise<Response> {
    const { url, key, fetch } = this.source;
    const headers = { 'X-API-Key': key, ...(held !== null && { 'If-None-Match': held }) };
    const asked = new URL(`/api/v1/stops?status=active&limit=1${held === null ? '' : `&wait=${WAIT}`}`, url);
    return fetch(asked, { headers, signal: this.ending.signal });
  }

  private async cancelStopped(): Promise<void> {
    await Promise.all(
      [...this.calls].map(async ([controller, asked]) => {
        if (await this.isStopped(asked)) this.cancel([controller]);
      }),
    );
  }

  private cancel(calls: readonly AbortController[]): void {
    for (const call of calls) call.abort(new StoppedError());
  }

  /** As the service says. Of an agent that is suspended it says nothing more than that. */
  private async isStopped({ agent, action, resourceType, resourceId }: RunningCall): Promise<boolean> {
    const body = { agent, open: true, requests: [{ action, resourceType, resourceId }] };
    const { results } = (await this.governance.post('/api/v1/policies/evaluate', {
      body,
    })) as Schemas['EvaluationsResponse'];
    const reason = results[0]?.reason;
    return reason === 'stopped' || (reason === 'agent_suspended' && (await this.isCovered(agent, action)));
  }

  private async isCovered(id: string, action: string): Promise<boolean> {
    const agent = await this.governance.get('/api/v1/agents/{id}', { path: { id } }).catch((error: unknown) => {
      // The key may not read agents.
      if (error instanceof GovernanceError && error.status === 403) return null;
      throw error;
    });
    const query = { status: 'active', limit: LONGEST_PAGE } as const;
    for await (const stop of this.governance.pages('/api/v1/stops', { query }))
      if (isCovering(stop, agent, action)) return true;
    return false;
  }
}

/** Whether the service answers the key's own agent, which is suspended. */
async function isSuspended(answer: Response): Promise<boolean> {
  if (answer.status !== 403) return false;
  const { error } = (await answer.json()) as { readonly error?: { readonly reason?: string } };
  return error?.reason === 'agent_suspended';
}
