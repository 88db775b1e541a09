import { hash, timingSafeEqual } from 'node:crypto';

const KEY_HEADER = 'x-api-key';

/** Compares a presented key with the accepted ones in constant time, whatever their lengths. */
export class ApiKeyCheck {
  private readonly accepted: readonly Buffer[];

  constructor(accepted: readonly string[]) {
    this.accepted = accepted.map(digest);
  }

  accepts(presented: string): boolean {
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
export function presentedKey(rawHeaders: readonly string[]): string | undefined {
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
