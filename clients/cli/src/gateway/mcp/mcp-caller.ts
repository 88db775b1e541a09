import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import { GovernanceClient } from '../../../../typescript/src/index.js';
import { tracedFetch } from '../../mcp/trace-of-call.js';
import { RateLimitLeft } from '../../mcp/rate-limit-left.js';
import type { Caller } from '../calls/known-callers.js';
import { Refusal, refusalResponse } from '../calls/refusal.js';
import type { Reports } from '../calls/reports.js';
import { callerFetch, type CallerService, PATIENCE_MS, TIMEOUT_MS } from '../calls/service-calls.js';
import { remainingMs } from '../calls/token-claims.js';

/** The sender of a request, as the service knows it. */
export interface IdentifiedCaller {
  readonly caller: Caller;
  readonly service: CallerService;
  readonly key: string;
  /** Address of the client. */
  readonly address: string;
  /** Value of `Governance-Audience`; null for keys. */
  readonly audience: string | null;
}

/** The value of `Governance-Repeat` of the request that is being served. */
const repeats = new AsyncLocalStorage<string | null>();

/**
 * Serves a request with the value of its header `Governance-Repeat`: the execution of unknown outcome that its calls
 * repeat, or null.
 */
export function repeating<Result>(repeat: string | null, serve: () => Promise<Result>): Promise<Result> {
  return repeats.run(repeat, serve);
}

/** Matches the ends of the paths of requests that authorise an action, which have the header `Governance-Repeat`. */
const AUTHORISING = /\/(?:execute|resume)$/;

/** One actor with one principal and the same rights. The key may change: an actor renews its tokens. */
export class McpCaller {
  /** Number of sessions, and of connections without session, that belong to the caller. */
  uses = 0;
  readonly left = new RateLimitLeft();
  readonly governance: GovernanceClient;
  /** The key or token that the service refused last: an issuer may have withdrawn it before its end. */
  private refusedKey: string | null = null;

  constructor(
    url: string,
    private identified: IdentifiedCaller,
    private readonly reports: Pick<Reports, 'requireTaken'>,
  ) {
    const fetch = tracedFetch(this.left.watching((target, init) => this.send(target, init)));
    this.governance = new GovernanceClient({
      url,
      key: identified.key,
      patience: PATIENCE_MS,
      timeout: TIMEOUT_MS,
      fetch,
    });
  }

  /** The sender whose key or token lasts longest. */
  get current(): IdentifiedCaller {
    return this.identified;
  }

  /**
   * Uses the key or token of another request from now on, unless it ends earlier than the current one: running calls of
   * other requests would end with it. One that the service has refused gives way in any case.
   */
  renew(identified: IdentifiedCaller): void {
    if (this.identified.key === this.refusedKey || remainingMs(identified.key) >= remainingMs(this.identified.key))
      this.identified = identified;
  }

  private async send(target: string | URL | Request, init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(init.headers);
    const { pathname } = new URL(target instanceof Request ? target.url : target);
    if (AUTHORISING.test(pathname)) {
      const repeat = repeats.getStore() ?? null;
      if (repeat !== null) headers.set('Governance-Repeat', repeat);
      const refusal = await this.refusalOf(init.signal ?? undefined);
      if (refusal !== null) return refusal;
    }
    // Calls carry their own trace.
    const { current } = this;
    const response = await callerFetch({ ...current, traceparent: null }, target, { ...init, headers });
    if (response.status === 401) this.refusedKey = current.key;
    return response;
  }

  /**
   * Returns a refusal in place of the service's answer while the service does not know all unknown outcomes of the
   * agent; null once it knows them.
   */
  private async refusalOf(signal?: AbortSignal): Promise<Response | null> {
    try {
      await this.reports.requireTaken(this.current.caller.agentId, signal);
      return null;
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      const { status, headers, body } = refusalResponse(error, randomUUID());
      return new Response(body, { status, headers });
    }
  }
}
