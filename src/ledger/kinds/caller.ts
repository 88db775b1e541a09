import type { DomainError } from '../../core/errors/domain-error';
import type { IdempotentRequest } from './idempotent-request';

/** Permissions of callers, in the order in which scopes are listed. */
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
  'report',
  'directory',
] as const;
export type Scope = (typeof SCOPES)[number];

/**
 * Scopes of gateways and of directories of people. A key with one has no other scope and is bound to nobody, and
 * `admin` does not imply them.
 */
const LONE_SCOPES: readonly Scope[] = ['report', 'directory'];

/** True for a scope that a key must have alone and that no token has. */
export function isLoneScope(scope: Scope): boolean {
  return LONE_SCOPES.includes(scope);
}

/** Scopes that `admin` implies, itself included. */
export const IMPLIED_SCOPES: readonly Scope[] = SCOPES.filter((scope) => !isLoneScope(scope));

/** The authenticated party, or `system` if the service acts automatically. */
export interface Actor {
  readonly type: 'api_key' | 'token' | 'agent' | 'slack' | 'system';
  readonly id: string;
}

/** Principal that a token names, according to its issuer. */
export interface TokenPrincipal {
  /** Name or id of a person, or id of a user; null if the token names nobody. */
  readonly claim: string | null;
  /** Roles of a principal that is no registered person; null if they are unusable. */
  readonly roles: readonly string[] | null;
  /** Subject patterns, as in policies, of the people that the claim may mean. */
  readonly people: ReadonlySet<string>;
}

/** Principals for whom a caller may act: anybody, those whom patterns match, or the one that its token names. */
export type AllowedPrincipals = 'anybody' | readonly string[] | TokenPrincipal;

/** Identity behind a key or token: one value shared by all requests that carry it. */
export interface Identity {
  readonly actor: Actor;
  /** The only agent that the caller may act as; null if it is not bound to one. */
  readonly agentId: string | null;
  /** Principals on whose behalf the caller may act. */
  readonly principals: AllowedPrincipals;
  /** Scopes as they were granted. */
  readonly scopes: readonly Scope[];
  /** All permitted scopes: `admin` implies every scope except those that a key has alone. */
  readonly effectiveScopes: ReadonlySet<Scope>;
  /** ISO 8601; null if it never expires. */
  readonly expiresAt: string | null;
  /** Address of the only gateway through which the token is valid; absent for keys and other tokens. */
  readonly gatewayAudience?: string;
  /**
   * Team of the key, which reads and writes records of that team only; absent if the key belongs to no team and sees
   * all records.
   */
  readonly team?: string;
  /**
   * Returns the refusal of a caller whose key has expired or was revoked, or whose agent is suspended; otherwise null.
   * @param ledgerTime time of a command that is about to run
   */
  readonly refusal: (ledgerTime?: string) => DomainError | null;
}

/** Caller on whose behalf records are read or written; every audit entry contains the actor. */
export interface Caller extends Identity {
  readonly requestId: string | null;
  readonly ip: string | null;
  /** The W3C trace that the request is part of. */
  readonly traceId: string | null;
  /** @internal Set if the request has an idempotency key: its writes take effect once, however often it is sent. */
  readonly idempotency?: IdempotentRequest;
  /** @internal Set if the request may need a second person. The gate decides whether its writes take effect. */
  readonly gate?: CommandGate;
}

/** Runs the commands of a request in their transaction, and may replace their writes. */
export interface CommandGate<Transaction = object> {
  run(transaction: Transaction, command: (transaction: Transaction) => Promise<unknown>): Promise<unknown>;
}

/** Expands a list of scopes: `admin` implies all of {@link IMPLIED_SCOPES}. */
export function expandScopes(scopes: readonly Scope[]): ReadonlySet<Scope> {
  return new Set(scopes.includes('admin') ? IMPLIED_SCOPES : scopes);
}

/** An identity with every scope that `admin` implies, not bound to an agent, that does not expire. */
export function unlimitedIdentity(actor: Actor): Identity {
  return {
    actor,
    agentId: null,
    principals: 'anybody',
    scopes: IMPLIED_SCOPES,
    effectiveScopes: expandScopes(IMPLIED_SCOPES),
    expiresAt: null,
    refusal: () => null,
  };
}

/** The service acting on its own behalf: expiry of decisions, executions found interrupted at start. */
export const SYSTEM_CALLER: Caller = {
  ...unlimitedIdentity({ type: 'system', id: 'service' }),
  requestId: null,
  ip: null,
  traceId: null,
};

/** Origin of a request. */
export type Origin = Pick<Caller, 'requestId' | 'ip' | 'traceId'>;

/** The members of a caller that differ between requests. */
type RequestMembers = Omit<Caller, keyof Identity>;

/** @internal Copies each member: V8 takes thirty times as long to spread an identity, and every request needs one. */
export function callerOf(identity: Identity, { requestId, ip, traceId, idempotency, gate }: RequestMembers): Caller {
  const { actor, agentId, principals, scopes, effectiveScopes, expiresAt, refusal, gatewayAudience, team } = identity;
  const caller = { actor, agentId, principals, scopes, effectiveScopes, expiresAt, refusal, requestId, ip, traceId };
  if (gatewayAudience !== undefined) Object.assign(caller, { gatewayAudience });
  if (team !== undefined) Object.assign(caller, { team });
  if (gate !== undefined) Object.assign(caller, { gate });
  return idempotency === undefined ? caller : Object.assign(caller, { idempotency });
}

/**
 * Returns the same caller without its idempotency key, for writes on behalf of a request that are not part of its
 * response.
 */
export function withoutKey(caller: Caller): Caller {
  const { requestId, ip, traceId } = caller;
  return callerOf(caller, { requestId, ip, traceId });
}

/** Returns the same caller, never refused, for work that must be completed once it has begun. */
export function withoutRefusal(caller: Caller): Caller {
  return { ...withoutKey(caller), refusal: () => null };
}
