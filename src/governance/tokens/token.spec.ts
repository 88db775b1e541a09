import { readClaims, tokenHolder } from './token';
import type { TokenIssuer } from './token-issuer';

const ISSUER: TokenIssuer = {
  issuer: 'https://login.example.org',
  audience: 'governance',
  jwks: 'keys.json',
  agentClaim: 'azp',
  agents: ['*'],
  scopes: ['read', 'propose'],
  scopesClaim: 'scp',
  ...{ principalClaim: null, principalRolesClaim: null, principalAgents: [] },
};
const READ = {
  ...{ iss: ISSUER.issuer, aud: ['governance', 'other'], exp: 2_000_000_000, nbf: 1_900_000_000, sub: 'alice' },
  ...{ azp: 'invoice-bot', scp: 'read' },
};
const NOW = 1_950_000_000_000;

describe('Of a token that is remembered', () => {
  const claims = { ...READ, iat: 1_900_000_000, groups: Array.from({ length: 100 }, (_, index) => `group ${index}`) };

  it('only the claims are kept that say who holds it', () => {
    expect(readClaims(claims, ISSUER)).toEqual(READ);
    expect(readClaims(claims, { ...ISSUER, agentClaim: 'sub', scopesClaim: null })).not.toHaveProperty('azp');
  });

  it('those claims say the same as all of them', () => {
    const holder = tokenHolder(claims, ISSUER, NOW);
    expect(holder).toMatchObject({ agent: 'invoice-bot', scopes: ['read'] });
    expect(tokenHolder(readClaims(claims, ISSUER), ISSUER, NOW)).toEqual(holder);
  });
});
