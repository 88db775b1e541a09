import { tokenHolder } from './token';
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
    scopes: ['read'],
    expiresAt: READ.exp,
    principal: null,
    principalRoles: [],
  });
});

it('An issuer that says nothing else names agents by "sub", gives all its scopes, and names no principals', () => {
  const { issuer, audience, jwks, agents, scopes } = ISSUER;
  const given = { issuer, audience, jwks, agents, scopes };
  const absent = { agentClaim: null, scopesClaim: null, principalClaim: null, principalRolesClaim: null };
  const holder = { agent: 'alice', scopes, principal: null, principalRoles: [] };
  for (const plain of [given, { ...given, ...absent }])
    expect(tokenHolder({ ...READ, principal: 'user:u1' }, plain, NOW)).toMatchObject(holder);
});
