import { claimsFault, readToken, tokenHolder } from './token';
import type { TokenIssuer } from './token-issuer';

const ISSUER: TokenIssuer = {
  issuer: 'https://login.example.org',
  audience: 'governance',
  jwks: 'keys.json',
  agentClaim: 'azp',
  agents: ['*'],
  scopes: ['read', 'propose'],
  scopesClaim: 'scp',
};
const READ = {
  iss: ISSUER.issuer,
  aud: ['governance', 'other'],
  exp: 2_000_000_000,
  nbf: 1_900_000_000,
  sub: 'alice',
  azp: 'invoice-bot',
  scp: 'read',
};
const NOW = 1_950_000_000_000;

it('Of the claims of a token only what they say of its holder is remembered', () => {
  const groups = Array.from({ length: 100 }, (_, index) => `group ${index}`);
  expect(tokenHolder({ ...READ, iat: 1_900_000_000, groups }, ISSUER, NOW)).toEqual({
    actorId: `${ISSUER.issuer}#alice`,
    agent: 'invoice-bot',
    gatewayAudiences: [],
    scopes: ['read'],
    expiresAt: READ.exp,
    principal: null,
    principalRoles: [],
  });
});

it('An issuer that says nothing else names agents by "sub", gives all its scopes, and names no principals', () => {
  const { issuer, audience, jwks, agents, scopes } = ISSUER;
  const members = { issuer, audience, jwks, agents, scopes };
  const absent = { agentClaim: null, scopesClaim: null, principalClaim: null, principalRolesClaim: null };
  const holder = { agent: 'alice', scopes, principal: null, principalRoles: [] };
  for (const plain of [members, { ...members, ...absent }])
    expect(tokenHolder({ ...READ, principal: 'user:u1' }, plain, NOW)).toMatchObject(holder);
});

it.each<[string, object]>([
  ['"iss"', { iss: 'https://other.example.org' }],
  ['"aud" does not have the audience governance', { aud: 'other' }],
  ['"exp" that is a number', { exp: '2000000000' }],
  ['expired', { exp: 1_900_000_000 }],
  ['"nbf"', { nbf: 1_960_000_000 }],
  ['"sub"', { sub: '' }],
])('Why a token is refused names what is wrong: %s', (why, claims) => {
  expect(claimsFault(READ, ISSUER, NOW)).toBeUndefined();
  expect(claimsFault({ ...READ, ...claims }, ISSUER, NOW)).toContain(why);
  expect(tokenHolder({ ...READ, ...claims }, ISSUER, NOW)).toBeUndefined();
});

it.each<[fault: string, text: string]>([
  ['more than 8192 characters', 'x'.repeat(8_193)],
  ['three parts', 'a.b'],
  ['three parts', 'a.b.+='],
  ['header is not a JSON object', tokenOf('x')],
  ['claims are not a JSON object', tokenOf({ alg: 'ES256' }, 7)],
  ['"alg" is none of RS256, PS256, ES256, EdDSA', tokenOf({ alg: 'HS256' })],
  ['"typ"', tokenOf({ alg: 'ES256', typ: 'dpop+jwt' })],
  ['"crit"', tokenOf({ alg: 'ES256', crit: ['b64'] })],
  ['"kid"', tokenOf({ alg: 'ES256', kid: 7 })],
])('A token that cannot be read has a fault: %s', (fault, text) => {
  expect(readToken(text)).toMatchObject({ fault: expect.stringContaining(fault) });
});

it.each([
  ...['JWT', 'at+jwt', 'application/at+jwt', 'Application/JWT'].map((typ) => [typ, true] as const),
  ...['application/', 'id+jwt', 'application/application/jwt'].map((typ) => [typ, false] as const),
])('A token of the type %s is read: %s', (typ, isRead) => {
  expect('signature' in readToken(tokenOf({ alg: 'ES256', typ }))).toBe(isRead);
});

function tokenOf(header: unknown, claims: unknown = READ): string {
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${part(header)}.${part(claims)}.AAAA`;
}
