import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { type Scope, SCOPES } from '../../ledger/caller';
import { subjectFault } from '../policies/patterns/subjects';
import { ConfigurationError } from '../../core/config/read-configuration';

/** An issuer whose tokens are accepted, and what they are good for. */
export interface TokenIssuer {
  readonly issuer: string;
  readonly audience: string;
  /** URL or path of a JSON Web Key Set. */
  readonly jwks: string;
  /** The claim with the name or id of the agent. */
  readonly agentClaim: string;
  /** Subject patterns, as in policies, of the agents that tokens may name. */
  readonly agents: readonly string[];
  readonly scopes: readonly Scope[];
  /** The claim that restricts the scopes; null: none does. */
  readonly scopesClaim: string | null;
  /** The claim with the principal, a person or user on whose behalf the agent acts; null: tokens name none. */
  readonly principalClaim: string | null;
  /** The claim with its roles, unless it is a registered person; null: it has none. */
  readonly principalRolesClaim: string | null;
  /** Subject patterns, as in policies, of the registered people that the claim may mean. */
  readonly principalAgents: readonly string[];
}

type Members = Readonly<Record<string, unknown>>;

const PRINCIPAL_MEMBERS = ['principalClaim', 'principalRolesClaim', 'principalAgents'];
const MEMBERS = ['issuer', 'audience', 'jwks', 'agentClaim', 'agents', 'scopes', 'scopesClaim', ...PRINCIPAL_MEMBERS];
const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/** Parses the issuers in the text of a file, or returns what is wrong with it. */
export function parseTokenIssuers(
  text: string,
): { readonly issuers: readonly TokenIssuer[] } | { readonly fault: string } {
  try {
    const list: unknown = JSON.parse(text);
    if (!Array.isArray(list) || list.length === 0) return { fault: 'must be a list of at least one issuer' };
    const issuers = list.map((item: unknown, index) => read(item, `[${index}]`));
    const names = issuers.map(({ issuer }) => issuer);
    if (new Set(names).size < names.length) return { fault: 'names an issuer twice' };
    return { issuers };
  } catch (error) {
    if (error instanceof IssuerFault) return { fault: error.message };
    if (error instanceof SyntaxError) return { fault: 'is not JSON' };
    throw error;
  }
}

class IssuerFault extends Error {}

function read(item: unknown, at: string): TokenIssuer {
  if (typeof item !== 'object' || item === null || Array.isArray(item))
    throw new IssuerFault(`${at} must be an object`);
  const members = item as Members;
  const unknown = Object.keys(members).find((name) => !MEMBERS.includes(name));
  if (unknown !== undefined) throw new IssuerFault(`${at}.${unknown} is not a member of an issuer`);
  const issuer = text(members, 'issuer', at);
  // An actor is `<issuer>#<subject>`, which must be unambiguous.
  if (issuer.includes('#')) throw new IssuerFault(`${at}.issuer must not contain "#"`);
  const jwks = text(members, 'jwks', at);
  const fault = jwksFault(jwks);
  if (fault !== undefined) throw new IssuerFault(`${at}.jwks ${fault}`);
  return {
    issuer,
    audience: text(members, 'audience', at),
    jwks,
    agentClaim: members['agentClaim'] === undefined ? 'sub' : text(members, 'agentClaim', at),
    agents: texts(members, 'agents', at, subjectFault),
    scopes: texts(members, 'scopes', at, scopeFault) as Scope[],
    scopesClaim: optionalText(members, 'scopesClaim', at),
    ...readPrincipal(members, at),
  };
}

/** Without the claim itself the other two would mean nothing. */
function readPrincipal(
  members: Members,
  at: string,
): Pick<TokenIssuer, 'principalClaim' | 'principalRolesClaim' | 'principalAgents'> {
  const alone = PRINCIPAL_MEMBERS.find((name) => members[name] !== undefined);
  if (members['principalClaim'] === undefined && alone !== undefined)
    throw new IssuerFault(`${at}.${alone} goes with principalClaim`);
  return {
    principalClaim: optionalText(members, 'principalClaim', at),
    principalRolesClaim: optionalText(members, 'principalRolesClaim', at),
    principalAgents:
      members['principalAgents'] === undefined ? [] : texts(members, 'principalAgents', at, subjectFault),
  };
}

function optionalText(members: Members, name: string, at: string): string | null {
  return members[name] === undefined ? null : text(members, name, at);
}

function text(members: Members, name: string, at: string): string {
  const value = members[name];
  if (typeof value === 'string' && value.trim() !== '') return value;
  throw new IssuerFault(`${at}.${name} must be a text`);
}

function texts(members: Members, name: string, at: string, fault: (item: string) => string | undefined): string[] {
  const list = members[name];
  if (!Array.isArray(list) || list.length === 0)
    throw new IssuerFault(`${at}.${name} must be a list of at least one text`);
  return list.map((item: unknown, index) => {
    const place = `${at}.${name}[${index}]`;
    if (typeof item !== 'string') throw new IssuerFault(`${place} must be a text`);
    const message = fault(item);
    if (message !== undefined) throw new IssuerFault(`${place} ${message}`);
    return item;
  });
}

function scopeFault(scope: string): string | undefined {
  const allowed = SCOPES.filter((known) => known !== 'admin');
  return allowed.some((known) => known === scope) ? undefined : `must be one of ${allowed.join(', ')}`;
}

function jwksFault(jwks: string): string | undefined {
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(jwks)) return undefined;
  const url = URL.canParse(jwks) ? new URL(jwks) : null;
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && LOOPBACK.test(url.hostname));
  return isSafe ? undefined : 'must be a URL with https (http for this machine only), or the path of a file';
}

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
  return new ConfigurationError([`TOKEN_ISSUERS: the file ${path} ${fault}; docs/identity-provider.md shows one`]);
}
