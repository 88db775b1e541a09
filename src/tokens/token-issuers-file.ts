import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { ConfigurationError } from '../config/read-configuration';
import { parseTokenIssuers, type TokenIssuer } from './token-issuer';

/** The issuers of the file that TOKEN_ISSUERS names; none without one. @throws ConfigurationError */
export function issuersIn(path: string | null): readonly TokenIssuer[] {
  if (path === null) return [];
  const found = parseTokenIssuers(textOf(path));
  if ('fault' in found) throw faultIn(path, found.fault);
  // Paths in the file are meant from where it stands.
  return found.issuers.map((issuer) =>
    issuer.jwks.includes('://') ? issuer : { ...issuer, jwks: resolve(dirname(path), issuer.jwks) },
  );
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    throw faultIn(path, 'cannot be read');
  }
}

function faultIn(path: string, fault: string): ConfigurationError {
  return new ConfigurationError([`TOKEN_ISSUERS: the file ${path} ${fault}; docs/operations.md shows one`]);
}
