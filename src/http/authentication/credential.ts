/** The credential that a request presents. */
export interface Credential {
  readonly secret: string;
  /** Where it was found: an issuer's token is accepted in `Authorization` only. */
  readonly isBearer: boolean;
}

const KEY_HEADER = 'x-api-key';
const AUTHORIZATION = 'authorization';
const BEARER = /^bearer(?: +|$)/i;

/**
 * The only credential of a request; undefined if it has none, or more than one. Other schemes of `Authorization` are
 * ignored.
 */
export function presentedCredential(rawHeaders: readonly string[]): Credential | undefined {
  let found: Credential | undefined;
  let authorizations = 0;
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    const value = rawHeaders[index + 1] ?? '';
    if (isHeader(name, KEY_HEADER)) {
      count += 1;
      found = { secret: value, isBearer: false };
    } else if (isHeader(name, AUTHORIZATION)) {
      authorizations += 1;
      const scheme = BEARER.exec(value)?.[0];
      if (scheme === undefined) continue;
      count += 1;
      found = { secret: value.slice(scheme.length), isBearer: true };
    }
  }
  const isAmbiguous = count > 1 || (authorizations > 1 && found?.isBearer === true);
  return isAmbiguous ? undefined : found;
}

/** Compares lengths first: most headers differ in length. */
function isHeader(name: string, lowerCase: string): boolean {
  return name.length === lowerCase.length && name.toLowerCase() === lowerCase;
}
