import { createHash } from 'node:crypto';
import { countedClient, unmapAddress } from '../../service-rules/ip-address.js';
import { type RequestBounds, RequestSlots } from '../request-slots.js';
import { SharedRoom } from '../shared-room.js';
import { Refusal, unavailable } from './refusal.js';
import type { CallerService, ServiceCaller } from './service-calls.js';
import { remainingMs, rightsOf } from './token-claims.js';

/** A caller of the gateway as the service knows it. */
export interface Caller {
  /**
   * Hash of the caller's key or token, and of the audience that a token must have. The gateway stores the key in no
   * other form.
   */
  readonly id: string;
  readonly agentId: string;
  /** Id of the key, or name of the token's subject. */
  readonly actorId: string;
  /**
   * Separates the tokens of one subject that have different rights, such as those for different principals; null for
   * keys.
   */
  readonly rightsId: string | null;
}

/** Milliseconds for which an answer is used again. The service checks the key again at each execute. */
const MAX_AGE_MS = 30_000;
const MAX_CALLERS = 10_000;

/**
 * Maximum number of unknown keys about which the service is asked at a time: anybody can make up any number of them.
 */
const MAX_LOOKUPS = 128;
const TOO_MANY = 'The gateway is already asking the service about as many unknown keys as it may at a time.';
/**
 * Maximum number of requests with unknown keys, including those that wait. The number is far below that of connections,
 * and one client leaves half for others.
 */
const STRANGERS: RequestBounds = { all: 2_000, ofOneHolder: 1_000, refusal: TOO_MANY, refusalOfHolder: TOO_MANY };

interface CachedCaller {
  readonly caller: Caller;
  readonly until: number;
}

/** Finds out whose a key is, and remembers it for a short time. */
export class KnownCallers {
  private readonly callers = new Map<string, CachedCaller>();
  /** Lookups that run, by the ids of their callers. */
  private readonly lookups = new Map<string, Promise<Caller>>();
  /** Room for the lookups of unknown keys, of which one client may take a part. */
  private readonly places = new SharedRoom(MAX_LOOKUPS);
  private readonly strangers = new RequestSlots(STRANGERS);
  /** Number of times that all callers were cleared. */
  private clearings = 0;

  /**
   * @param left fires when the client has gone
   * @throws Refusal 401 for an unknown key, 403 for one that is bound to no agent or may not execute, 503 if the service
   *   is away
   */
  async require(caller: ServiceCaller, service: CallerService, left: AbortSignal): Promise<Caller> {
    const { key, address, audience = null } = caller;
    const id = createHash('sha256')
      .update(JSON.stringify([key, audience]))
      .digest('base64url');
    const cached = this.findFresh(id);
    if (cached !== undefined) return cached;
    if (this.callers.has(id)) return this.lookUp(id, key, service);
    const client = countedClient(unmapAddress(address));
    const leave = this.strangers.enterAs(client);
    try {
      const place = await this.places.reserve(1, client, left);
      if (place === null) throw unavailable(TOO_MANY);
      const lookup = this.findFresh(id) ?? this.lookUp(id, key, service);
      return await Promise.resolve(lookup).finally(() => place.release());
    } finally {
      leave();
    }
  }

  /**
   * Forgets all answers of the service, including those of running lookups: keys may have ended, or agents may have
   * been suspended.
   */
  clear(): void {
    this.clearings += 1;
    for (const [id, { caller }] of this.callers) this.callers.set(id, { caller, until: 0 });
    this.lookups.clear();
  }

  private findFresh(id: string): Caller | undefined {
    const cached = this.callers.get(id);
    return cached !== undefined && cached.until > performance.now() ? cached.caller : undefined;
  }

  /** Asks the service about a key; simultaneous requests of one caller share the lookup. */
  private lookUp(id: string, key: string, service: CallerService): Promise<Caller> {
    const running = this.lookups.get(id);
    if (running !== undefined) return running;
    const lookup = this.ask(id, key, service).finally(() => {
      if (this.lookups.get(id) === lookup) this.lookups.delete(id);
    });
    this.lookups.set(id, lookup);
    return lookup;
  }

  private async ask(id: string, key: string, service: CallerService): Promise<Caller> {
    const { clearings } = this;
    const { agentId, actor, scopes } = await service.me().catch((error: unknown) => {
      // The service no longer knows the key.
      if (error instanceof Refusal && error.status === 401) this.callers.delete(id);
      throw error;
    });
    if (agentId === null)
      throw new Refusal(
        403,
        'caller_not_bound',
        'The key is bound to no agent. Use a key or token of the agent that acts.',
      );
    // The service would evaluate with other scopes, too, and what is only evaluated would be sent.
    if (!scopes.includes('execute'))
      throw new Refusal(
        403,
        'scope_missing',
        'The key or token lacks the scope "execute", without which nothing is sent.',
      );
    const caller = { id, agentId, actorId: actor.id, rightsId: rightsOf(key) };
    this.callers.delete(id);
    const maxAgeMs = clearings === this.clearings ? Math.min(MAX_AGE_MS, remainingMs(key)) : 0;
    this.callers.set(id, { caller, until: performance.now() + maxAgeMs });
    const [oldest] = this.callers.keys();
    if (this.callers.size > MAX_CALLERS && oldest !== undefined) this.callers.delete(oldest);
    return caller;
  }
}
