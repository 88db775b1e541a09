import type { Variables } from './variable';

const TEXT = /^[\x21-\x7e]{1,500}$/;

/** Signing in to the console at a token issuer, with OpenID Connect's code flow and PKCE. */
export const OIDC_VARIABLES: Pick<Variables, 'oidcIssuer' | 'oidcClientId' | 'oidcScope'> = {
  oidcIssuer: {
    name: 'OIDC_ISSUER',
    description:
      'Issuer of TOKEN_ISSUERS at which people sign in to the console; needs PUBLIC_URL. Unset: with a key only.',
    default: '',
    expected: 'a URL with https (http for a test), as TOKEN_ISSUERS has it',
    example: 'https://login.example.com',
    parse: (text) => (text === '' ? null : parseIssuer(text)),
  },
  oidcClientId: {
    name: 'OIDC_CLIENT_ID',
    onlyWith: 'OIDC_ISSUER',
    description: 'Client id of the console at the issuer: a public client with the redirect URI <PUBLIC_URL>/console/.',
    default: '',
    expected: 'up to 500 visible ASCII characters',
    example: 'governance-console',
    parse: (text) => (text === '' ? null : TEXT.test(text) ? text : undefined),
  },
  oidcScope: {
    name: 'OIDC_SCOPE',
    onlyWith: 'OIDC_ISSUER',
    description: 'Scopes that the console requests from the issuer, separated by spaces; must include openid.',
    default: 'openid',
    expected: 'scopes separated by single spaces, openid among them',
    example: 'openid governance',
    parse: (text) =>
      /^[\x21-\x7e]+( [\x21-\x7e]+)*$/.test(text) && text.split(' ').includes('openid') ? text : undefined,
  },
};

function parseIssuer(text: string): string | undefined {
  const hasForm = TEXT.test(text) && /^https?:\/\/[^?#]+$/.test(text) && URL.canParse(text);
  return hasForm ? text : undefined;
}
