import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { IMPLIED_SCOPES, type Scope } from '../../ledger/kinds/caller';
import { subjectFault } from '../policies/patterns/subjects';
import { repeatedName } from '../../core/values/repeated-name';
import { parsedJson } from '../../core/json/json-value';
import { ConfigurationError } from '../../core/config/read-configuration';
import { choiceShape, faultsAt, listShape, objectShape, textShape } from '../../http/validation/shapes';

/**
 * An issuer whose tokens are accepted, and the rights they give. It is parsed from the file, in which null counts as
 * left out.
 */
export interface TokenIssuer {
  readonly issuer: string;
  readonly audience: string;
  /** Addresses of MCP upstreams of gateways, `<publicUrl>/<name>/mcp`, for which the tokens may be issued instead. */
  readonly gatewayAudiences?: readonly string[] | null;
  /** URL or path of a JSON Web Key Set. */
  readonly jwks: string;
  /** Claim with the name or id of the agent; `sub` by default. */
  readonly agentClaim?: string | null;
  /** Subject patterns, as in policies, of the agents that tokens may name. */
  readonly agents: readonly string[];
  readonly scopes: readonly Scope[];
  /** Claim that restricts the scopes; if not set, tokens have all `scopes`. */
  readonly scopesClaim?: string | null;
  /**
   * Claim with the principal, a person or user on whose behalf the agent acts; if not set, tokens name no principal.
   */
  readonly principalClaim?: string | null;
  /**
   * Claim with the principal's roles; if not set, the principal has none. A registered person's own roles count
   * instead.
   */
  readonly principalRolesClaim?: string | null;
  /** Subject patterns, as in policies, of the registered people that the principal claim may mean. */
  readonly principalAgents?: readonly string[] | null;
}

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;
const MAX_TEXT_CHARACTERS = 4_096;
const GRANTED = IMPLIED_SCOPES.filter((scope) => scope !== 'admin');

const TEXT = textShape({ max: MAX_TEXT_CHARACTERS });
const SUBJECTS = listShape(textShape({ max: MAX_TEXT_CHARACTERS, rule: subjectFault }), 1, 1_000, 'texts');
const OPTIONAL_TEXT = { ...TEXT, optional: true };

const ISSUER = objectShape(
  {
    // An actor is `<issuer>#<subject>`, which must be unambiguous.
    issuer: textShape({
      max: MAX_TEXT_CHARACTERS,
      rule: (text) => (text.includes('#') ? 'must not contain "#"' : undefined),
    }),
    audience: TEXT,
    gatewayAudiences: {
      ...listShape(textShape({ max: MAX_TEXT_CHARACTERS, rule: gatewayAudienceFault }), 1, 100, 'texts'),
      optional: true,
    },
    jwks: textShape({ max: MAX_TEXT_CHARACTERS, rule: jwksFault }),
    agentClaim: OPTIONAL_TEXT,
    agents: SUBJECTS,
    scopes: listShape(choiceShape(GRANTED), 1, GRANTED.length, 'scopes'),
    scopesClaim: OPTIONAL_TEXT,
    principalClaim: OPTIONAL_TEXT,
    principalRolesClaim: OPTIONAL_TEXT,
    principalAgents: { ...SUBJECTS, optional: true },
  },
  ({ audience, gatewayAudiences, principalClaim, ...members }) => {
    // The service itself would accept a token for the gateway.
    const repeated = Array.isArray(gatewayAudiences) && gatewayAudiences.includes(audience);
    const shared = repeated ? [{ at: '.gatewayAudiences', message: 'must not have the audience of the service' }] : [];
    // Without `principalClaim`, the other two would have no effect.
    const alone = ['principalRolesClaim', 'principalAgents'].filter((name) => (members[name] ?? null) !== null);
    const lone = (principalClaim ?? null) === null ? alone : [];
    return [...shared, ...lone.map((name) => ({ at: `.${name}`, message: 'goes with principalClaim' }))];
  },
);
const ISSUERS = listShape(ISSUER, 1, 100, 'issuers');

/** Parses the issuers in the text of a file, or returns its fault. */
export function parseTokenIssuers(
  text: string,
): { readonly issuers: readonly TokenIssuer[] } | { readonly fault: string } {
  const list = parsedJson(text);
  if (list === undefined) return { fault: 'is not JSON' };
  const repeated = repeatedName(text);
  if (repeated !== undefined) return { fault: `has the member ${repeated.join('.')} twice` };
  const [first] = faultsAt('', ISSUERS.rule, list);
  if (first !== undefined) return { fault: `${first.at} ${first.message}`.trim() };
  const issuers = list as readonly TokenIssuer[];
  const names = new Set(issuers.map(({ issuer }) => issuer));
  return names.size < issuers.length ? { fault: 'names an issuer twice' } : { issuers };
}

/** Matches the end of a gateway's address: the name of an upstream, in the form of `via`. */
const GATEWAY_PATH = /\/[a-z][a-z0-9-]{0,39}\/mcp$/;

function gatewayAudienceFault(audience: string): string | undefined {
  const url = URL.canParse(audience) ? new URL(audience) : null;
  const isAddress = url?.protocol === 'https:' && url.href === audience && GATEWAY_PATH.test(url.pathname);
  return isAddress && url.search === '' && url.hash === ''
    ? undefined
    : 'must be the https address of an upstream of a gateway, such as https://gateway.example.com/shop/mcp';
}

function jwksFault(jwks: string): string | undefined {
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(jwks)) return undefined;
  const url = URL.canParse(jwks) ? new URL(jwks) : null;
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && LOOPBACK.test(url.hostname));
  return isSafe ? undefined : 'must be a URL with https (http for this machine only), or the path of a file';
}

/** Reads the issuers from the file that TOKEN_ISSUERS names; empty if it names none. @throws ConfigurationError */
export function issuersIn(path: string | null): readonly TokenIssuer[] {
  if (path === null) return [];
  const issuers = parseTokenIssuers(textOf(path));
  if ('fault' in issuers) throw faultIn(path, issuers.fault);
  // Paths in the file are relative to its folder.
  return issuers.issuers.map((issuer) =>
    issuer.jwks.includes('://') ? issuer : { ...issuer, jwks: resolve(dirname(path), issuer.jwks) },
  );
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8').replace(/^\uFEFF/, '');
  } catch {
    throw faultIn(path, 'cannot be read');
  }
}

function faultIn(path: string, fault: string): ConfigurationError {
  return new ConfigurationError([`TOKEN_ISSUERS: the file ${path} ${fault}; docs/identity-provider.md shows one`]);
}
