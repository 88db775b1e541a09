import type { DomainError } from '../errors/domain-error';
import type { IdempotentRequest } from './idempotent-request';

/** What callers may be let do, in the order in which they are listed. */
export const SCOPES = [
  'read',
  'audit',
  'entities',
  'agents',
  'execute',
  'propose',
  'review',
  'policies',
  'admin',
] as const;
export type Scope = (typeof SCOPES)[number];

/** Who authenticated, or `system` for what the service does by itself. */
export interface Actor {
  readonly type: 'api_key' | 'token' | 'agent' | 'system';
  readonly id: string;
}

/** Who asks, as a key or a token says: one value for all the requests that carry it. */
export interface Identity {
  readonly actor: Actor;
  /** The agent that it acts as, and as no other; null: it is not bound. */
  readonly agentId: string | null;
  /** As they were given. */
  readonly scopes: readonly Scope[];
  /** All that it may do: who has `admin` has every scope. */
  readonly grants: ReadonlySet<Scope>;
  /** ISO 8601; null: never. */
  readonly expiresAt: string | null;
  /**
   * Why it may ask nothing now: its key has ended, or its agent is suspended; null when it may.
   * @param ledgerTime of a command that is about to run.
   */
  readonly refusal: (ledgerTime?: string) => DomainError | null;
}

/** On whose behalf something is read or written; the actor is sealed into every audit entry. */
export interface Caller extends Identity {
  readonly requestId: string | null;
  readonly ip: string | null;
  /** @internal Set when the request has an idempotency key: what it writes takes effect once, however often it is sent. */
  readonly idempotency?: IdempotentRequest;
}

/** All that a list of scopes stands for. */
export function grantsOf(scopes: readonly Scope[]): ReadonlySet<Scope> {
  return new Set(scopes.includes('admin') ? SCOPES : scopes);
}

/** Somebody with every scope, bound to no agent, for as long as the service runs. */
export function unlimited(actor: Actor): Identity {
  return { actor, agentId: null, scopes: SCOPES, grants: grantsOf(SCOPES), expiresAt: null, refusal: () => null };
}

/** The service acting by itself: expiry of decisions, executions found interrupted at start. */
export const SYSTEM_CALLER: Caller = {
  ...unlimited({ type: 'system', id: 'service' }),
  requestId: null,
  ip: null,
};

/** Which request it is that somebody sends. */
type RequestMembers = Omit<Caller, keyof Identity>;

/** @internal Member by member: V8 takes thirty times as long to spread an identity, and every request needs one. */
export function callerOf(identity: Identity, { requestId, ip, idempotency }: RequestMembers): Caller {
  const { actor, agentId, scopes, grants, expiresAt, refusal } = identity;
  const caller = { actor, agentId, scopes, grants, expiresAt, refusal, requestId, ip };
  return idempotency === undefined ? caller : Object.assign(caller, { idempotency });
}

/** The same caller, for what is written on behalf of a request but is not part of its answer. */
export function withoutKey(caller: Caller): Caller {
  const { requestId, ip } = caller;
  return callerOf(caller, { requestId, ip });
}

/** The same, for what must be written to its end once it has begun, whatever becomes of the caller meanwhile. */
export function admitted(caller: Caller): Caller {
  return { ...withoutKey(caller), refusal: () => null };
}
