import { createHash } from 'node:crypto';
import { BodyRoom } from '../body-room.js';
import { Refusal, unavailable } from './refusal.js';
import type { CallerService, ServiceCaller } from './service-calls.js';
import { remainingMs, rightsOf } from './token-claims.js';

/** A caller of the gateway as the service knows it. */
export interface Caller {
  /** Hash of its key, which is kept nowhere else, and of what a token has to be made for. */
  readonly id: string;
  readonly agentId: string;
  /** Id of the key, or name of the token's subject. */
  readonly actorId: string;
  /** Separates the tokens of one subject that have different rights, such as those for different principals; null for keys. */
  readonly rightsId: string | null;
}

/** Milliseconds for which an answer is used again. The service checks the key again at each execute. */
const MAX_AGE_MS = 30_000;
const MAX_CALLERS = 10_000;

/** Keys never seen before that the service is asked about at a time: anybody can make up any number of them. */
const MAX_LOOKUPS = 128;
/** Requests with such keys, also those that wait: far fewer than there are connections. One address leaves room for others. */
const MAX_STRANGERS = 2_000;
const MAX_STRANGERS_OF_ONE_ADDRESS = 1_000;
const TOO_MANY = 'The gateway has as many unknown keys to ask about as it takes at a time.';

interface CachedCaller {
  readonly caller: Caller;
  readonly until: number;
}

/** Finds out whose a key is, and remembers it for a short time. */
export class KnownCallers {
  private readonly callers = new Map<string, CachedCaller>();
  /** Lookups that run, by the ids of their callers. */
  private readonly lookups = new Map<string, Promise<Caller>>();
  /** Of which one address has a part. */
  private readonly room = new BodyRoom(MAX_LOOKUPS);
  private strangers = 0;
  private readonly strangersByAddress = new Map<string, number>();

  /**
   * @param left fires when the client has gone
   * @throws Refusal 401 for an unknown key, 403 for one that is bound to no agent, 503 if the service is away
   */
  async require(client: ServiceCaller, service: CallerService, left: AbortSignal): Promise<Caller> {
    const { key, address, audience = null } = client;
    const id = createHash('sha256')
      .update(JSON.stringify([key, audience]))
      .digest('base64url');
    const cached = this.findFresh(id);
    if (cached !== undefined) return cached;
    if (this.callers.has(id)) return this.lookUp(id, client, service);
    const ofAddress = this.strangersByAddress.get(address) ?? 0;
    if (this.strangers >= MAX_STRANGERS || ofAddress >= MAX_STRANGERS_OF_ONE_ADDRESS) throw unavailable(TOO_MANY);
    this.countStrangers(address, 1);
    try {
      const place = await this.room.reserve(1, address, left);
      if (place === null) throw unavailable(TOO_MANY);
      const lookup = this.findFresh(id) ?? this.lookUp(id, client, service);
      return await Promise.resolve(lookup).finally(() => place.release());
    } finally {
      this.countStrangers(address, -1);
    }
  }

  /** Keys may have ended, or agents are suspended. */
  clear(): void {
    for (const [id, { caller }] of this.callers) this.callers.set(id, { caller, until: 0 });
    this.lookups.clear();
  }

  private countStrangers(address: string, change: 1 | -1): void {
    this.strangers += change;
    const ofAddress = (this.strangersByAddress.get(address) ?? 0) + change;
    if (ofAddress === 0) this.strangersByAddress.delete(address);
    else this.strangersByAddress.set(address, ofAddress);
  }

  private findFresh(id: string): Caller | undefined {
    const cached = this.callers.get(id);
    return cached !== undefined && cached.until > performance.now() ? cached.caller : undefined;
  }

  /** Requests of one caller share a lookup. */
  private lookUp(id: string, { key }: ServiceCaller, service: CallerService): Promise<Caller> {
    const running = this.lookups.get(id);
    if (running !== undefined) return running;
    const lookup = this.ask(id, key, service).finally(() => this.lookups.delete(id));
    this.lookups.set(id, lookup);
    return lookup;
  }

  private async ask(id: string, key: string, service: CallerService): Promise<Caller> {
    const { agentId, actor } = await service.me().catch((error: unknown) => {
      // It is not known any more.
      if (error instanceof Refusal && error.status === 401) this.callers.delete(id);
      throw error;
    });
    if (agentId === null)
      throw new Refusal(
        403,
        'caller_not_bound',
        'The key is bound to no agent. Use a key or token of the agent that acts.',
      );
    const caller = { id, agentId, actorId: actor.id, rightsId: rightsOf(key) };
    this.callers.delete(id);
    const maxAgeMs = Math.min(MAX_AGE_MS, remainingMs(key));
    this.callers.set(id, { caller, until: performance.now() + maxAgeMs });
    const [oldest] = this.callers.keys();
    if (this.callers.size > MAX_CALLERS && oldest !== undefined) this.callers.delete(oldest);
    return caller;
  }
}
