import { Injectable } from '@nestjs/common';
import { hash, timingSafeEqual } from 'node:crypto';
import { Configuration } from '../../config/configuration';
import type { ServiceRequest } from '../service-request';

const KEY_HEADER = 'x-api-key';

/** Tells who holds the API key, or the former one. */
@Injectable()
export class ApiKeyCheck {
  private readonly accepted: readonly Buffer[];

  constructor({ apiKey, apiKeyPrevious }: Configuration) {
    const keys = apiKeyPrevious === null ? [apiKey] : [apiKey, apiKeyPrevious];
    this.accepted = keys.map(digest);
  }

  /** Whether a request carries a valid key, once. The rate limit asks first, then the guard; it is looked at once. */
  isPassedBy(request: ServiceRequest): boolean {
    request.hasValidKey ??= this.accepts(presentedKey(request.rawHeaders));
    return request.hasValidKey;
  }

  /** Compares in constant time, whatever the lengths. */
  private accepts(presented: string | undefined): boolean {
    if (presented === undefined) return false;
    const presentedDigest = digest(presented);
    let matches = false;
    for (const key of this.accepted) {
      // No short cut: the time must not tell which key matched.
      matches = timingSafeEqual(key, presentedDigest) || matches;
    }
    return matches;
  }
}

function digest(key: string): Buffer {
  return hash('sha256', key, 'buffer');
}

/** The key a request presents; undefined when it has no key header, or more than one. */
function presentedKey(rawHeaders: readonly string[]): string | undefined {
  let key: string | undefined;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name?.length !== KEY_HEADER.length || name.toLowerCase() !== KEY_HEADER) {
      continue;
    }
    if (key !== undefined) {
      return undefined;
    }
    key = rawHeaders[index + 1];
  }
  return key;
}
