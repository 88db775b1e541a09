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

  /** Whether an active key that is bound to an agent has all of these scopes, whichever process has issued it. */
  abstract someBoundHas(scopes: readonly Scope[]): Promise<boolean>;
}

/** Knows the holders of tokens from trusted issuers. */
export abstract class IssuedTokens {
  /**
   * Whether the signature has been verified before: then checking the token again costs next to nothing.
   * @param digest SHA-256.
   */
  abstract isVerified(digest: Buffer): boolean;

  /**
   * The holder of a token; null if it is not valid here, or not for this use.
   * @throws UNAVAILABLE if its issuer has never been reached.
   */
  abstract holderOf(token: string, digest: Buffer, use: TokenUse): Promise<Identity | null>;
}

/** How a request uses its token. */
export interface TokenUse {
  /** The gateway's address that the request names; null without one. */
  readonly gatewayAudience: string | null;
  /** Whether the route takes tokens that were issued for a gateway. */
  readonly takesGatewayTokens: boolean;
}

/** Names the address of the gateway for which a token was issued. */
const GATEWAY_AUDIENCE = 'governance-audience';

const KEY_HEADER = 'x-api-key';
const BEARER = /^bearer(?: +|$)/i;

/** The credential that a request presents. */
interface Credential {
  readonly secret: string;
  /** Where it was found: an issuer's token is accepted in `Authorization` only. */
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
   * Identifies the sender, once per request; null if the request has no valid credential. Synchronous unless a lookup is
   * needed: a promise for each request would cost more than the check of its key.
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

  /** Compares in constant time, whatever the lengths. */
  private isOperators(digest: Buffer): boolean {
    let matches = false;
    for (const key of this.operatorKeys) {
      // No early exit: the time taken must not reveal which key matched.
      matches = timingSafeEqual(key, digest) || matches;
    }
    return matches;
  }
}

/** Whether a request tries to say who sends it: an `Authorization` of another scheme does not. */
export function presentsCredential(request: ServiceRequest): boolean {
  return request.headers[KEY_HEADER] !== undefined || presentedCredential(request) !== undefined;
}

/** A repeated header names no gateway: Node joins its values. */
function tokenUse({ headers, traits }: ServiceRequest): TokenUse {
  const { [GATEWAY_AUDIENCE]: gatewayAudience } = headers;
  const { takesGatewayTokens } = traits;
  return { gatewayAudience: typeof gatewayAudience === 'string' ? gatewayAudience : null, takesGatewayTokens };
}

/** Parts of a token are separated by dots, which no issued key contains. */
function isToken({ secret, isBearer }: Credential): boolean {
  return isBearer && secret.includes('.');
}

function digestOf(secret: string): Buffer {
  return hash('sha256', secret, 'buffer');
}

/**
 * The only credential of a request; undefined if it has none, or more than one. Other schemes of `Authorization` are
 * ignored; on a route for gateways, `Authorization` is ignored altogether if there is a key.
 */
function presentedCredential(request: ServiceRequest): Credential | undefined {
  const { [KEY_HEADER]: key, authorization } = request.headers;
  const isKeyAlone = authorization === undefined || (key !== undefined && request.traits.isForGateways);
  // Node joins what is repeated with a comma.
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
