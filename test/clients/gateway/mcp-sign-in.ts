/** The address to which the issuer sends people back; nothing listens there. */
export const REDIRECT_URL = 'http://127.0.0.1:9/callback';
const MAX_STEPS = 12;

/**
 * Signs a person in at the issuer as a browser would, without one. Returns the parameters of the redirection to the
 * client.
 */
export async function signIn(authorizationUrl: string, login: string): Promise<URLSearchParams> {
  const cookies = new Map<string, string>();
  let url = authorizationUrl;
  let form: Record<string, string> | null = null;
  for (let step = 0; step < MAX_STEPS; step += 1) {
    const response = await fetch(url, {
      redirect: 'manual',
      headers: { Cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
      ...(form !== null && { method: 'POST', body: new URLSearchParams(form) }),
    });
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
      cookies.set(name, value);
    }
    const location = response.headers.get('Location');
    const page = await response.text();
    if (location?.startsWith(REDIRECT_URL) === true) return new URL(location).searchParams;
    [, url = ''] =
      location === null ? (/<form[^>]* action="([^"]+)"/.exec(page) ?? []) : ['', new URL(location, url).href];
    const [, prompt = ''] = /name="prompt" value="(\w+)"/.exec(page) ?? [];
    form = location === null ? { prompt, ...(prompt === 'login' && { login, password: 'any' }) } : null;
    if (url === '') throw new Error(`The issuer answered ${response.status}: ${page}`);
  }
  throw new Error('The issuer asks for ever.');
}

interface Tokens {
  readonly access_token: string;
}

/** The memory of a client of MCP about one person: see `OAuthClientProvider` of the official SDK. */
export class PersonsAuthorization {
  readonly redirectUrl = REDIRECT_URL;
  readonly clientMetadata = {
    client_name: 'test',
    redirect_uris: [REDIRECT_URL],
    grant_types: ['authorization_code', 'refresh_token'],
    token_endpoint_auth_method: 'none',
    application_type: 'native',
  };
  authorizationUrl = '';
  private client: object | undefined;
  private saved: Tokens | undefined;
  private verifier = '';
  private discovery: object | undefined;

  clientInformation(): object | undefined {
    return this.client;
  }

  saveClientInformation(client: object): void {
    this.client = client;
  }

  tokens(): Tokens | undefined {
    return this.saved;
  }

  saveTokens(tokens: Tokens): void {
    this.saved = tokens;
  }

  discoveryState(): object | undefined {
    return this.discovery;
  }

  saveDiscoveryState(discovery: object): void {
    this.discovery = discovery;
  }

  redirectToAuthorization(url: URL): void {
    this.authorizationUrl = url.href;
  }

  saveCodeVerifier(verifier: string): void {
    this.verifier = verifier;
  }

  codeVerifier(): string {
    return this.verifier;
  }
}
