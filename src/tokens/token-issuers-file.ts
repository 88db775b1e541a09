import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { ConfigurationError } from '../config/read-configuration';
import { parseTokenIssuers, type TokenIssuer } from './token-issuer';

/** The issuers in the file that TOKEN_ISSUERS names; empty without one. @throws ConfigurationError */
export function issuersIn(path: string | null): readonly TokenIssuer[] {
  if (path === null) return [];
  const found = parseTokenIssuers(textOf(path));
  if ('fault' in found) throw faultIn(path, found.fault);
  // Paths in the file are relative to its folder.
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
