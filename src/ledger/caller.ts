import type { DomainError } from '../core/errors/domain-error';
import type { IdempotentRequest } from './idempotent-request';

/** What callers may be permitted to do, in the order in which scopes are listed. */
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

/** Who authenticated, or `system` for what the service does automatically. */
export interface Actor {
  readonly type: 'api_key' | 'token' | 'agent' | 'slack' | 'system';
  readonly id: string;
}

/** The principal that a token names, as its issuer says. */
export interface TokenPrincipal {
  /** Name or id of a person, or the id of a user; null: nobody. */
  readonly claim: string | null;
  /** Of one who is not a registered person; null: unusable. */
  readonly roles: readonly string[] | null;
  /** The people that the claim may mean, as subjects of policies. */
  readonly people: ReadonlySet<string>;
}

/** For whom a caller may act: anybody, those whom patterns match, or the one that its token names. */
export type AllowedPrincipals = 'anybody' | readonly string[] | TokenPrincipal;

/** Who is asking, according to a key or a token: one value shared by all requests that carry it. */
export interface Identity {
  readonly actor: Actor;
  /** The only agent it may act as; null: it is not bound to one. */
  readonly agentId: string | null;
  /** On whose behalf it may act. */
  readonly principals: AllowedPrincipals;
  /** As they were granted. */
  readonly scopes: readonly Scope[];
  /** Everything it may do: `admin` implies every scope. */
  readonly effectiveScopes: ReadonlySet<Scope>;
  /** ISO 8601; null: never. */
  readonly expiresAt: string | null;
  /**
   * Why it is refused at the moment: its key has expired or was revoked, or its agent is suspended; null when it is
   * not.
   * @param ledgerTime of a command that is about to run.
   */
  readonly refusal: (ledgerTime?: string) => DomainError | null;
}

/** On whose behalf something is read or written; the actor is sealed into every audit entry. */
export interface Caller extends Identity {
  readonly requestId: string | null;
  readonly ip: string | null;
  /** The W3C trace that the request is part of. */
  readonly traceId: string | null;
  /** @internal Set when the request has an idempotency key: what it writes takes effect once, however often it is sent. */
  readonly idempotency?: IdempotentRequest;
}

/** Expands a list of scopes: `admin` implies all of them. */
export function expandScopes(scopes: readonly Scope[]): ReadonlySet<Scope> {
  return new Set(scopes.includes('admin') ? SCOPES : scopes);
}

/** An identity with every scope, not bound to an agent, that does not expire. */
export function unlimited(actor: Actor): Identity {
  return {
    actor,
    agentId: null,
    principals: 'anybody',
    scopes: SCOPES,
    effectiveScopes: expandScopes(SCOPES),
    expiresAt: null,
    refusal: () => null,
  };
}

/** The service acting on its own behalf: expiry of decisions, executions found interrupted at start. */
export const SYSTEM_CALLER: Caller = {
  ...unlimited({ type: 'system', id: 'service' }),
  requestId: null,
  ip: null,
  traceId: null,
};

/** Where a request comes from. */
export type Origin = Pick<Caller, 'requestId' | 'ip' | 'traceId'>;

/** What identifies a single request. */
type RequestMembers = Omit<Caller, keyof Identity>;

/** @internal Copies each member: V8 takes thirty times as long to spread an identity, and every request needs one. */
export function callerOf(identity: Identity, { requestId, ip, traceId, idempotency }: RequestMembers): Caller {
  const { actor, agentId, principals, scopes, effectiveScopes, expiresAt, refusal } = identity;
  const caller = { actor, agentId, principals, scopes, effectiveScopes, expiresAt, refusal, requestId, ip, traceId };
  return idempotency === undefined ? caller : Object.assign(caller, { idempotency });
}

/** The same caller, for what is written on behalf of a request but is not part of its answer. */
export function withoutKey(caller: Caller): Caller {
  const { requestId, ip, traceId } = caller;
  return callerOf(caller, { requestId, ip, traceId });
}

/**
 * The same caller, but no longer refused: for work that, once begun, must be completed whatever happens to the caller.
 */
export function admitted(caller: Caller): Caller {
  return { ...withoutKey(caller), refusal: () => null };
}
