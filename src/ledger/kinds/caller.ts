import type { DomainError } from '../../core/errors/domain-error';
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
  'report',
  'directory',
] as const;
export type Scope = (typeof SCOPES)[number];

/** Scopes of a gateway and of a directory of people: each is alone in its key, which is bound to nobody, and `admin` does not imply it. */
const LONE_SCOPES: readonly Scope[] = ['report', 'directory'];

/** True for a scope that a key has alone, and that no token has. */
export function isLoneScope(scope: Scope): boolean {
  return LONE_SCOPES.includes(scope);
}

/** The scopes that `admin` implies, itself included. */
export const IMPLIED_SCOPES: readonly Scope[] = SCOPES.filter((scope) => !isLoneScope(scope));

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

/** The identity that a key or a token stands for: one value shared by all requests that carry it. */
export interface Identity {
  readonly actor: Actor;
  /** The only agent it may act as; null: it is not bound to one. */
  readonly agentId: string | null;
  /** On whose behalf it may act. */
  readonly principals: AllowedPrincipals;
  /** As they were granted. */
  readonly scopes: readonly Scope[];
  /** Everything it may do: `admin` implies every scope except those that a key has alone. */
  readonly effectiveScopes: ReadonlySet<Scope>;
  /** ISO 8601; null: never. */
  readonly expiresAt: string | null;
  /** The gateway's address for which its token was issued; absent for keys and other tokens. It is valid through that gateway only. */
  readonly gatewayAudience?: string;
  /** The team of its key, whose records alone it writes and reads; absent: of none, so that it sees the whole house. */
  readonly team?: string;
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
  /** @internal Set when the request may need a second person: it decides what becomes of what the request writes. */
  readonly gate?: CommandGate;
}

/** Runs the commands of a request in their transaction, and may put something else in the place of what they write. */
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

/** Where a request comes from. */
export type Origin = Pick<Caller, 'requestId' | 'ip' | 'traceId'>;

/** What identifies a single request. */
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

/** The same caller, for what is written on behalf of a request but is not part of its answer. */
export function withoutKey(caller: Caller): Caller {
  const { requestId, ip, traceId } = caller;
  return callerOf(caller, { requestId, ip, traceId });
}

/**
 * The same caller, but no longer refused: for work that, once begun, must be completed whatever happens to the caller.
 */
export function withoutRefusal(caller: Caller): Caller {
  return { ...withoutKey(caller), refusal: () => null };
}
