import { createHash } from 'node:crypto';
import { Refusal } from './refusal.js';
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

interface CachedCaller {
  readonly caller: Caller;
  readonly until: number;
}

/** Finds out whose a key is, and remembers it for a short time. */
export class KnownCallers {
  private readonly callers = new Map<string, CachedCaller>();

  /** @throws Refusal 401 for an unknown key, 403 for one that is bound to no agent, 503 if the service is away */
  async require({ key, audience = null }: ServiceCaller, service: CallerService): Promise<Caller> {
    const id = createHash('sha256')
      .update(JSON.stringify([key, audience]))
      .digest('base64url');
    const cached = this.callers.get(id);
    if (cached !== undefined && cached.until > performance.now()) return cached.caller;
    const { agentId, actor } = await service.me();
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

  /** Keys may have ended, or agents are suspended. */
  clear(): void {
    this.callers.clear();
  }
}
