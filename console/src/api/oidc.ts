const VERIFIER = 'governance-console-verifier';
const STATE = 'governance-console-state';
const RETURN_TO = 'governance-console-return';

/** The issuer at which people sign in, as the service wrote it into the page. */
export interface SignInAtIssuer {
  readonly issuer: string;
  readonly audience: string;
  readonly clientId: string;
  readonly scope: string;
  readonly redirectUri: string;
  readonly authorizationEndpoint: string;
  readonly tokenEndpoint: string;
}

/** Null if no issuer is configured, or the service cannot reach it. */
export function issuerOfPage(): SignInAtIssuer | null {
  const content = document.querySelector<HTMLMetaElement>('meta[name="sign-in"]')?.content;
  return content === undefined ? null : (JSON.parse(content) as SignInAtIssuer);
}

/** The issuer at which people could sign in, if the service could reach it. */
export function unreachableIssuer(): string | null {
  return document.querySelector<HTMLMetaElement>('meta[name="sign-in-unreachable"]')?.content ?? null;
}

/** Redirects to the issuer: the code flow with PKCE (RFC 7636). */
export async function leaveForIssuer(issuer: SignInAtIssuer): Promise<void> {
  const [verifier, state] = [randomText(), randomText()];
  sessionStorage.setItem(VERIFIER, verifier);
  sessionStorage.setItem(STATE, state);
  sessionStorage.setItem(RETURN_TO, `${location.pathname}${location.search}`);
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier));
  const url = new URL(issuer.authorizationEndpoint);
  const parameters = {
    response_type: 'code',
    client_id: issuer.clientId,
    redirect_uri: issuer.redirectUri,
    scope: issuer.scope,
    state,
    code_challenge: base64url(new Uint8Array(digest)),
    code_challenge_method: 'S256',
  };
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  location.assign(url);
}

/** True if the page was opened by the issuer, with its answer. */
export function cameFromIssuer(): boolean {
  const query = new URLSearchParams(location.search);
  return query.has('state') && (query.has('code') || query.has('error'));
}

/**
 * Returns the token to send as `Bearer`, and removes the issuer's answer from the address bar. @throws Error that says
 * what is wrong.
 */
export async function takeToken(issuer: SignInAtIssuer | null): Promise<string> {
  const query = new URLSearchParams(location.search);
  const take = (name: string): string | null => {
    const value = sessionStorage.getItem(name);
    sessionStorage.removeItem(name);
    return value;
  };
  const [verifier, state, returnTo] = [take(VERIFIER), take(STATE), take(RETURN_TO)];
  history.replaceState(null, '', returnTo ?? '/console');
  if (issuer === null) {
    throw new Error(
      'The service cannot reach the issuer at the moment. Wait half a minute, reload the page, sign in again.',
    );
  }
  if (state === null || verifier === null || query.get('state') !== state) {
    throw new Error('The answer of the issuer is not to a request of this tab. Sign in again.');
  }
  const code = query.get('code');
  if (code === null)
    throw new Error(`The issuer refused: ${query.get('error_description') ?? query.get('error') ?? ''}`);
  const answer = await requestTokens(issuer.tokenEndpoint, {
    grant_type: 'authorization_code',
    client_id: issuer.clientId,
    redirect_uri: issuer.redirectUri,
    code,
    code_verifier: verifier,
  });
  return selectToken(issuer, [answer['access_token'], answer['id_token']]);
}

async function requestTokens(
  endpoint: string,
  parameters: Record<string, string> & { readonly client_id: string },
): Promise<Readonly<Record<string, unknown>>> {
  const response = await fetch(endpoint, { method: 'POST', body: new URLSearchParams(parameters) }).catch(() => {
    // The browser does not tell the page why.
    throw new Error(
      `No answer came from ${endpoint}. Check that it can be reached from here, and that the issuer allows requests from ` +
        `${location.origin} to it (CORS).`,
    );
  });
  const text = await response.text();
  const answer = parseClaims(text);
  if (response.ok) return answer;
  const { error, error_description: description } = answer;
  const reason = [description, error].find((text) => typeof text === 'string') ?? `status ${response.status}`;
  const advice =
    error === 'invalid_client'
      ? `Register "${parameters.client_id}" there as a public client, which needs no secret.`
      : 'Sign in again.';
  throw new Error(`The issuer gave no token: ${reason}. ${advice}`);
}

/** Returns the first token that is a JWT of the issuer for the audience that the service expects. @throws Error */
function selectToken({ issuer, audience, clientId }: SignInAtIssuer, tokens: readonly unknown[]): string {
  const jwts = tokens.filter((token) => typeof token === 'string');
  const matchingToken = jwts.find((token) => {
    const { iss, aud } = claimsOf(token);
    return iss === issuer && [aud].flat().includes(audience);
  });
  if (matchingToken !== undefined) return matchingToken;
  throw new Error(
    `The issuer's tokens are not for the audience "${audience}". Set "audience" of this issuer in TOKEN_ISSUERS to "${clientId}" ` +
      'to take its ID tokens, or OIDC_SCOPE to the scope that makes it issue access tokens for that audience.',
  );
}

function claimsOf(token: string): Readonly<Record<string, unknown>> {
  try {
    return parseClaims(atob((token.split('.')[1] ?? '').replaceAll('-', '+').replaceAll('_', '/')));
  } catch {
    // An access token need not be a JWT.
    return {};
  }
}

/** A JSON object; an empty one for anything else. */
function parseClaims(text: string): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(text)) as Readonly<Record<string, unknown>>;
  } catch {
    return {};
  }
}

function randomText(): string {
  return base64url(crypto.getRandomValues(new Uint8Array(32)));
}

function base64url(data: Uint8Array): string {
  return btoa(String.fromCharCode(...data))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
}
