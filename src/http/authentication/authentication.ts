import { Injectable } from '@nestjs/common';
import { hash, timingSafeEqual } from 'node:crypto';
import { type Identity, type Scope, unlimitedIdentity } from '../../ledger/kinds/caller';
import { Configuration } from '../../core/config/configuration';
import { headerValues } from '../request/arrival';
import type { ServiceRequest } from '../request/service-request';

/** Knows the holders of the keys that the service has issued. */
export abstract class IssuedKeys {
  /**
   * The holder of a secret; null if it is unknown, or no longer valid. Synchronous, except for a key that another
   * process may just have issued.
   * @param digest SHA-256 of the secret.
   */
  abstract holderOf(secret: string, digest: Buffer): Identity | null | Promise<Identity | null>;

  /** True if an active key that is bound to an agent has all of these scopes; any process may have issued the key. */
  abstract hasBoundKeyWith(scopes: readonly Scope[]): Promise<boolean>;
}

/** Knows the holders of tokens from trusted issuers. */
export abstract class IssuedTokens {
  /**
   * True if the signature was verified before, so that checking the token again costs next to nothing.
   * @param digest SHA-256 of the token
   */
  abstract isVerified(digest: Buffer): boolean;

  /**
   * Returns the holder of a token; null if it is not valid here, or not for this use.
   * @throws UNAVAILABLE if its issuer has never been reached
   */
  abstract holderOf(token: string, digest: Buffer, use: TokenUse): Promise<Identity | null>;
}

/** The use of a token by a request. */
export interface TokenUse {
  /** Gateway address that the request names; null if it names none. */
  readonly gatewayAudience: string | null;
  /** True if the route takes tokens that were issued for a gateway. */
  readonly takesGatewayTokens: boolean;
}

/** Header with the address of the gateway for which a token was issued. */
const GATEWAY_AUDIENCE = 'governance-audience';

const KEY_HEADER = 'x-api-key';
const BEARER = /^bearer(?: +|$)/i;

/** The credential that a request presents. */
interface Credential {
  readonly secret: string;
  /** True if the credential is in `Authorization`, the only header in which an issuer's token is accepted. */
  readonly isBearer: boolean;
}

/** The holder of the key in `API_KEY`. */
const OPERATOR = unlimitedIdentity({ type: 'api_key', id: 'env' });

/** Identifies who sends a request. */
@Injectable()
export class Authentication {
  private readonly operatorKeys: readonly Buffer[];

  constructor(
    { apiKey, apiKeyPrevious }: Configuration,
    private readonly issuedKeys: IssuedKeys,
    private readonly issuedTokens: IssuedTokens,
  ) {
    const keys = apiKeyPrevious === null ? [apiKey] : [apiKey, apiKeyPrevious];
    this.operatorKeys = keys.map(digestOf);
  }

  /**
   * Identifies the sender, once per request; null if the request has no valid credential. Synchronous unless a lookup
   * is needed, because a promise would cost more than the check of a key.
   */
  identify(request: ServiceRequest): Identity | null | Promise<Identity | null> {
    if (request.identity !== undefined) return request.identity;
    const identity = this.find(request);
    if (identity instanceof Promise) return identity.then((identity) => (request.identity = identity));
    request.identity = identity;
    return identity;
  }

  /** True if a signature has to be verified to identify the sender. */
  needsVerification(request: ServiceRequest): boolean {
    if (request.headers.authorization === undefined) return false;
    const credential = presentedCredential(request);
    if (credential === undefined || !isToken(credential)) return false;
    const digest = digestOf(credential.secret);
    return !this.isOperators(digest) && !this.issuedTokens.isVerified(digest);
  }

  private find(request: ServiceRequest): Identity | null | Promise<Identity | null> {
    const credential = presentedCredential(request);
    if (credential === undefined) return null;
    const { secret } = credential;
    const digest = digestOf(secret);
    if (this.isOperators(digest)) return OPERATOR;
    return isToken(credential)
      ? this.issuedTokens.holderOf(secret, digest, tokenUse(request))
      : this.issuedKeys.holderOf(secret, digest);
  }

  /** Compares in constant time at any length. */
  private isOperators(digest: Buffer): boolean {
    let matches = false;
    for (const key of this.operatorKeys) {
      // No early exit: the time taken must not reveal which key matched.
      matches = timingSafeEqual(key, digest) || matches;
    }
    return matches;
  }
}

/** True if a request presents a credential; an `Authorization` of another scheme is none. */
export function presentsCredential(request: ServiceRequest): boolean {
  return request.headers[KEY_HEADER] !== undefined || presentedCredential(request) !== undefined;
}

/** Reads how a request uses its token. A repeated header, whose values Node joins, names no gateway. */
function tokenUse({ headers, traits }: ServiceRequest): TokenUse {
  const { [GATEWAY_AUDIENCE]: gatewayAudience } = headers;
  const { takesGatewayTokens } = traits;
  return { gatewayAudience: typeof gatewayAudience === 'string' ? gatewayAudience : null, takesGatewayTokens };
}

/** True for a token: its parts are separated by dots, which no issued key contains. */
function isToken({ secret, isBearer }: Credential): boolean {
  return isBearer && secret.includes('.');
}

function digestOf(secret: string): Buffer {
  return hash('sha256', secret, 'buffer');
}

/**
 * Returns the only credential of a request; undefined if it has none, or more than one. Ignores other schemes of
 * `Authorization`, and on a route for gateways `Authorization` altogether if there is a key.
 */
function presentedCredential(request: ServiceRequest): Credential | undefined {
  const { [KEY_HEADER]: key, authorization } = request.headers;
  const isKeyAlone = authorization === undefined || (key !== undefined && request.traits.isForGateways);
  // Node joins repeated headers with a comma.
  if (typeof key === 'string' && !key.includes(',') && isKeyAlone) {
    return { secret: key, isBearer: false };
  }
  const keys = headerValues(request, KEY_HEADER);
  const authorizations = isKeyAlone ? [] : headerValues(request, 'authorization');
  const bearers = authorizations.filter((value) => BEARER.test(value));
  const [secret, ...others] = [...keys, ...bearers.map((value) => value.replace(BEARER, ''))];
  const isBearer = keys.length === 0;
  const isAmbiguous = others.length > 0 || (isBearer && authorizations.length > 1);
  return secret === undefined || isAmbiguous ? undefined : { secret, isBearer };
}
