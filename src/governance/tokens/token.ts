import { type Scope, SCOPES } from '../../ledger/kinds/caller';
import { labelFault } from '../../core/values/label-fault';
import { principalIdFault } from '../policies/patterns/principals';
import { parsedJson } from '../../core/json/json-value';
import { isObject, type Members } from '../../http/validation/shapes';
import type { TokenIssuer } from './token-issuer';
import { type Algorithm, ALGORITHMS, isSigned, type TokenKey } from './token-key';
import { normalFormC } from '../../core/values/normal-form';

/** Most characters of a token. */
const MAX_TOKEN_CHARACTERS = 8 * 1024;
const MAX_ACTOR_CHARACTERS = 500;
const MAX_SUBJECT_CHARACTERS = 255;
/** Most roles of a principal, as in a request. */
const MAX_ROLES = 50;
/** Seconds of clock skew allowed between issuer and service. */
const LEEWAY = 30;
/** The last second that a timestamp can express: a token may expire later. */
const LATEST_END = Date.parse('9999-12-31T23:59:59Z') / 1000;
const PART = /^[A-Za-z0-9_-]+$/;
/** Characters that no agent's name has, and no database stores. */
const UNSTORABLE = /[\p{Cc}\p{Surrogate}]/u;
const TYPES: readonly unknown[] = [undefined, 'jwt', 'at+jwt', 'application/jwt', 'application/at+jwt'];

/** A token as it is parsed, before anything in it is trusted. */
interface UnverifiedToken {
  readonly algorithm: Algorithm;
  readonly kid: string | null;
  readonly claims: Members;
  readonly signed: string;
  readonly signature: Buffer;
}

/** A text that cannot be an acceptable token. */
interface UnreadableToken {
  /** Reason, without any part of the text. */
  readonly fault: string;
  /** The claims, if these can be read. */
  readonly claims: Members | undefined;
}

/** Reads a token. Headers that say where to find keys are ignored. */
export function readToken(text: string): UnverifiedToken | UnreadableToken {
  if (text.length > MAX_TOKEN_CHARACTERS)
    return { fault: `it has more than ${MAX_TOKEN_CHARACTERS} characters`, claims: undefined };
  const parts = text.split('.');
  const [head = '', payload = '', signature = ''] = parts;
  if (parts.length !== 3 || !parts.every(isPart))
    return { fault: 'it is not three parts of base64url with dots between them', claims: undefined };
  const [header, claims] = [membersOf(head), membersOf(payload)];
  if (header === undefined) return { fault: 'its header is not a JSON object', claims };
  if (claims === undefined) return { fault: 'its claims are not a JSON object', claims };
  const { alg, kid, typ, crit } = header;
  const algorithm = ALGORITHMS.find((name) => name === alg);
  if (algorithm === undefined) return { fault: `its "alg" is none of ${ALGORITHMS.join(', ')}`, claims };
  if (!TYPES.includes(typeof typ === 'string' ? typ.toLowerCase() : typ))
    return { fault: 'its "typ" is not JWT or at+jwt', claims };
  if (crit !== undefined) return { fault: 'it has "crit"', claims };
  if (kid !== undefined && typeof kid !== 'string') return { fault: 'its "kid" is not a text', claims };
  return {
    algorithm,
    kid: kid ?? null,
    claims,
    signed: `${head}.${payload}`,
    signature: Buffer.from(signature, 'base64url'),
  };
}

/** True for canonical base64url: another encoding of the same content could pass for a different token. */
function isPart(part: string): boolean {
  return PART.test(part) && Buffer.from(part, 'base64url').toString('base64url') === part;
}

function membersOf(part: string): Members | undefined {
  const value = parsedJson(Buffer.from(part, 'base64url').toString('utf8'));
  return isObject(value) ? value : undefined;
}

/** The key that signed the token, if exactly one candidate fits; otherwise undefined. */
export function signingKey(token: UnverifiedToken, keys: readonly TokenKey[]): TokenKey | undefined {
  const { algorithm, kid, signed, signature } = token;
  const fitting = keys.filter((key) => key.algorithms.includes(algorithm) && (kid === null || key.kid === kid));
  const [only, ...others] = fitting;
  if (only === undefined || others.length > 0) return undefined;
  return isSigned(algorithm, only.key, signed, signature) ? only : undefined;
}

/** Claims of a token about its holder. */
export interface TokenHolder {
  readonly actorId: string;
  /** Name or id of an agent; null if the claim is missing, or cannot be one. */
  readonly agent: string | null;
  readonly scopes: readonly Scope[];
  /** Principal; null if the claim is missing, or cannot name anybody. */
  readonly principal: string | null;
  /** Roles of the principal; null if they are unusable. */
  readonly principalRoles: readonly string[] | null;
  /** Seconds since 1970. */
  readonly expiresAt: number;
  /** Addresses of gateways for which it was issued; empty for a token that was issued for this service. */
  readonly gatewayAudiences: readonly string[];
}

/**
 * Returns why the claims do not make a token that is valid here and now, without repeating them; undefined if they do.
 */
export function claimsFault(claims: Members, issuer: TokenIssuer, now: number): string | undefined {
  const { iss, exp, nbf, sub } = claims;
  const isForService = audiencesIn(claims).includes(issuer.audience);
  if (iss !== issuer.issuer) return 'its "iss" is another issuer';
  if (!isForService && gatewayAudiencesIn(claims, issuer).length === 0)
    return `its "aud" does not have the audience ${issuer.audience}`;
  if (typeof exp !== 'number') return 'it has no "exp" that is a number';
  if (isOver(exp, now)) return 'it has expired ("exp")';
  if (nbf !== undefined && (typeof nbf !== 'number' || nbf > now / 1000 + LEEWAY)) return 'its "nbf" is in the future';
  if (typeof sub !== 'string' || !isSubject(sub))
    return `its "sub" is not a text of 1 to ${MAX_SUBJECT_CHARACTERS} characters`;
  return Array.from(actorOf(issuer, sub)).length > MAX_ACTOR_CHARACTERS
    ? 'its "iss" and "sub" are too long'
    : undefined;
}

function audiencesIn({ aud }: Members): readonly unknown[] {
  return Array.isArray(aud) ? aud : [aud];
}

/** Returns the gateway addresses of a token; empty if it was also issued for the service itself. */
function gatewayAudiencesIn(claims: Members, { audience, gatewayAudiences }: TokenIssuer): readonly string[] {
  const audiences = audiencesIn(claims);
  if (audiences.includes(audience)) return [];
  return (gatewayAudiences ?? []).filter((gateway) => audiences.includes(gateway));
}

function actorOf({ issuer }: TokenIssuer, sub: string): string {
  return `${issuer}#${sub}`;
}

/**
 * Returns the holder of a token; undefined unless the token is valid here and now. @param now milliseconds since 1970
 */
export function tokenHolder(claims: Members, issuer: TokenIssuer, now: number): TokenHolder | undefined {
  if (claimsFault(claims, issuer, now) !== undefined) return undefined;
  const { exp, sub } = claims as { readonly exp: number; readonly sub: string };
  return {
    actorId: actorOf(issuer, sub),
    agent: agentIn(claims[issuer.agentClaim ?? 'sub']),
    scopes: scopesOf(claims, issuer),
    ...principalIn(claims, issuer),
    expiresAt: Math.min(exp, LATEST_END),
    gatewayAudiences: gatewayAudiencesIn(claims, issuer),
  };
}

/**
 * Returns the agent; null if a database cannot store the text. The lookup shares a statement with those of other
 * requests, which would all fail.
 */
function agentIn(claim: unknown): string | null {
  return typeof claim === 'string' && !UNSTORABLE.test(claim) ? claim : null;
}

/**
 * Returns the principal. An unusable claim names nobody, so policies that allow only on somebody's behalf do not match.
 */
function principalIn(
  claims: Members,
  { principalClaim, principalRolesClaim }: TokenIssuer,
): Pick<TokenHolder, 'principal' | 'principalRoles'> {
  const claim = principalClaim ? claims[principalClaim] : undefined;
  const principal = typeof claim === 'string' && principalIdFault(claim) === undefined ? normalFormC(claim) : null;
  return { principal, principalRoles: principalRolesClaim ? rolesIn(claims[principalRolesClaim]) : [] };
}

/** Returns the roles; null if one is unusable, or there are too many, because leaving a role out could evade a rule. */
function rolesIn(claim: unknown): readonly string[] | null {
  if (claim !== undefined && typeof claim !== 'string' && !Array.isArray(claim)) return null;
  const roles = listIn(claim).filter((role) => role !== '');
  if (!roles.every(isRole)) return null;
  const distinct = [...new Set(roles.map((role) => normalFormC(role)))].sort();
  return distinct.length > MAX_ROLES ? null : distinct;
}

function isRole(role: unknown): role is string {
  return typeof role === 'string' && !UNSTORABLE.test(role) && labelFault(role) === undefined;
}

/** @param now milliseconds since 1970. */
export function isOver(expiresAt: number, now: number): boolean {
  return !Number.isFinite(expiresAt) || now / 1000 >= expiresAt + LEEWAY;
}

function isSubject(sub: string): boolean {
  const length = Array.from(sub).length;
  return length >= 1 && length <= MAX_SUBJECT_CHARACTERS && !UNSTORABLE.test(sub);
}

function scopesOf(claims: Members, { scopes, scopesClaim }: TokenIssuer): Scope[] {
  if (!scopesClaim) return [...scopes];
  const granted = listIn(claims[scopesClaim]);
  return SCOPES.filter((scope) => scopes.includes(scope) && granted.includes(scope));
}

/** Splits a claim that is a string separated by spaces, or an array. */
function listIn(claim: unknown): unknown[] {
  if (typeof claim === 'string') return claim.split(' ');
  return Array.isArray(claim) ? claim : [];
}
