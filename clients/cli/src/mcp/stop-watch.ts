import { setTimeout as sleep } from 'node:timers/promises';
import type { GovernanceClient } from '../../../typescript/src/index.js';
import { MAX_STOPS } from '../covering-stops.js';
import type { ToolRequest } from './mapping.js';
import { type ListedStop, RunningCalls } from './running-calls.js';

/** Seconds for which the service holds a request for the list of stops: many proxies cut a request after 60. */
const WAIT = 50;
/** Pause in milliseconds after a failed long poll. */
const PAUSE = 5_000;

export interface StopsSource {
  readonly url: string;
  readonly key: string;
  readonly fetch: typeof globalThis.fetch;
}

/**
 * Waits for changes of the service's stops from the first call on, in one request at a time. Cancels the calls that a
 * stop covers, and those whose agent is suspended or whose key has ended. It does not follow events, which the keys of
 * agents may not read.
 */
export class StopWatch {
  private readonly calls = new RunningCalls();
  private readonly closing = new AbortController();
  private isWatching = false;

  constructor(
    private readonly governance: GovernanceClient,
    private readonly source: StopsSource,
  ) {}

  /** Runs a call with a signal that fires when it is stopped. */
  async during<Result>(
    { agent, ...request }: ToolRequest & { readonly agent: string },
    run: (stopped: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    if (!this.isWatching) void this.watch();
    const caller = { id: agent, agentId: agent, actorId: '' };
    const evaluate = (body: object): Promise<unknown> => this.governance.post('/api/v1/policies/evaluate', { body });
    const activeStops = (): Promise<readonly ListedStop[]> => this.activeStops();
    return this.calls.during({ ...request, caller, service: { evaluate, activeStops } }, run);
  }

  close(): void {
    this.closing.abort();
  }

  private async watch(): Promise<void> {
    this.isWatching = true;
    const { signal } = this.closing;
    for (let etag: string | null = null; !signal.aborted;) {
      try {
        const requestTime = performance.now();
        const { status, headers, body } = await this.stops(etag);
        await body?.cancel();
        // Beyond its limit of waits the service answers at once.
        if (status === 304 && performance.now() - requestTime < PAUSE) await this.pause();
        // The service reports no stop to an agent that is suspended, nor to a key that has ended.
        else if (status === 200 || status === 401 || status === 403) await this.calls.checkAll({ signal });
        if (status >= 400) throw new Error(`GET /stops answered ${status}.`);
        etag = headers.get('ETag');
      } catch {
        // The service refuses what a stop covers, whether this is known here or not.
        etag = null;
        await this.pause();
      }
    }
  }

  /** Ends early when the watch is closed. */
  private async pause(): Promise<void> {
    const { signal } = this.closing;
    await sleep(PAUSE, undefined, { signal, ref: false }).catch(() => undefined);
  }

  private stops(etag: string | null): Promise<Response> {
    const condition = etag === null ? {} : { 'If-None-Match': etag };
    return this.list(`limit=1${etag === null ? '' : `&wait=${WAIT}`}`, condition);
  }

  private async activeStops(): Promise<readonly ListedStop[]> {
    const response = await this.list(`limit=${MAX_STOPS}`);
    const { status } = response;
    const body = (await response.json()) as { data?: readonly ListedStop[]; error?: { reason?: string | null } };
    if (!response.ok || body.data === undefined)
      throw Object.assign(new Error(`GET /stops answered ${status}.`), { status, reason: body.error?.reason });
    return body.data;
  }

  private list(query: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    const { url, key, fetch } = this.source;
    const target = new URL(`/api/v1/stops?status=active&${query}`, url);
    // The service takes tokens only in this header.
    const authorization = { Authorization: `Bearer ${key}` };
    return fetch(target, { headers: { ...authorization, ...headers }, signal: this.closing.signal });
  }
}
