import { Injectable } from '@nestjs/common';
import { hash, timingSafeEqual } from 'node:crypto';
import { Configuration } from '../../config/configuration';
import { type Identity, unlimited } from '../../ledger/caller';
import type { ServiceRequest } from '../request/service-request';
import { type Credential, presentedCredential } from './credential';
import { IssuedKeys } from './issued-keys';
import { IssuedTokens } from './issued-tokens';

/** The holder of the key in `API_KEY`. */
const OPERATOR = unlimited({ type: 'api_key', id: 'env' });

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
   * Who sends a request; null if it has no valid credential. The rate limit asks first, then the guard: the result is
   * cached, and available synchronously unless a lookup is needed.
   */
  identify(request: ServiceRequest): Identity | null | Promise<Identity | null> {
    if (request.identity !== undefined) return request.identity;
    const found = this.find(request);
    if (found instanceof Promise) return found.then((identity) => (request.identity = identity));
    request.identity = found;
    return found;
  }

  /** Whether a signature has to be verified to identify the sender. */
  needsVerification({ headers, rawHeaders }: ServiceRequest): boolean {
    if (headers.authorization === undefined) return false;
    const credential = presentedCredential(rawHeaders);
    if (credential === undefined || !isToken(credential)) return false;
    const digest = digestOf(credential.secret);
    return !this.isOperators(digest) && !this.issuedTokens.isVerified(digest);
  }

  private find({ rawHeaders }: ServiceRequest): Identity | null | Promise<Identity | null> {
    const credential = presentedCredential(rawHeaders);
    if (credential === undefined) return null;
    const { secret } = credential;
    const digest = digestOf(secret);
    if (this.isOperators(digest)) return OPERATOR;
    return isToken(credential) ? this.issuedTokens.holderOf(secret, digest) : this.issuedKeys.holderOf(secret, digest);
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

/** Parts of a token are separated by dots, which no issued key contains. */
function isToken({ secret, isBearer }: Credential): boolean {
  return isBearer && secret.includes('.');
}

function digestOf(secret: string): Buffer {
  return hash('sha256', secret, 'buffer');
}
