import { type ChildProcess, spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAgent } from '../../support/application/factories';
import { send } from '../../support/application/send';
import { ROOT } from '../../support/documents/markdown';
import { freePort } from '../../../bench/support/free-port';
import { describeInBrowser, type Page, TestBrowser } from '../browser';
import { type CompanyService, startApplicationAt } from '../company';

const SERVER = join(__dirname, '..', 'oidc-server.mjs');
/** The provider of docs/identity-provider.md. */
const EXAMPLE = join(ROOT, 'examples', 'identity-provider.mjs');

interface TrustedIssuer {
  readonly audience?: string;
  readonly jwks?: string;
  readonly OIDC_SCOPE?: string;
}

describeInBrowser('Signing in at an issuer', () => {
  let folder: string;
  let server: ChildProcess | null = null;
  let issuer: string;
  let port: number;
  let browser: TestBrowser;
  let program: CompanyService | null = null;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'console-oidc-'));
    port = await freePort();
    browser = await TestBrowser.launch();
  });
  afterAll(async () => {
    await browser.close();
    rmSync(folder, { recursive: true });
  });

  async function startIssuer(kind = ''): Promise<void> {
    await start([SERVER, `http://127.0.0.1:${port}/console/`, kind]);
  }

  async function start(words: readonly string[]): Promise<void> {
    const env = { ...process.env, PORT: '0' };
    const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'ignore'], env });
    server = child;
    let printed = '';
    issuer = await new Promise((resolve, reject) => {
      child.on('close', () => reject(new Error(`The issuer ended: ${printed}`)));
      child.stdout.on('data', (chunk: Buffer) => {
        printed += chunk.toString();
        const issuerUrl = /^(?:ISSUER )?(http:\S+)$/m.exec(printed)?.[1];
        if (issuerUrl !== undefined) resolve(issuerUrl);
      });
    });
  }

  async function stopIssuer(): Promise<void> {
    if (server === null) return;
    const ended = once(server, 'close');
    server.kill();
    server = null;
    await ended;
  }

  async function startService({
    audience = 'console',
    jwks = `${issuer}/jwks`,
    ...settings
  }: TrustedIssuer = {}): Promise<void> {
    const who = { agents: ['agent:finn'], scopes: ['read', 'review'] };
    const path = join(folder, 'issuers.json');
    writeFileSync(path, JSON.stringify([{ issuer, audience, jwks, ...who }]));
    program = await startApplicationAt(port, {
      PUBLIC_URL: `http://127.0.0.1:${port}`,
      RATE_LIMIT: '100000',
      TOKEN_ISSUERS: path,
      OIDC_ISSUER: issuer,
      OIDC_CLIENT_ID: 'console',
      ...settings,
    });
    await createAgent(program, { name: 'finn', kind: 'human', roles: ['finance'] });
    await createAgent(program, { name: 'sara', kind: 'human', roles: ['security'] });
  }

  async function stopAll(): Promise<void> {
    await program?.stop();
    program = null;
    await stopIssuer();
  }

  async function closeWindows(): Promise<void> {
    const faults = browser.takeFaults();
    await browser.closeWindows();
    expect(faults).toEqual([]);
  }

  /** Opens the console; `expected` are patterns of messages that the test itself provokes. */
  function open(expected: readonly RegExp[] = []): Promise<Page> {
    const url = `http://127.0.0.1:${port}/console/explain`;
    return browser.open(url, { origins: [issuer], theirs: ['https://fonts.googleapis.com'], expected });
  }

  /** Signs in on the issuer's own pages. */
  async function signInThere(page: Page, name = 'finn'): Promise<void> {
    await page.getByRole('button', { name: /^Sign in at/ }).click();
    await page.locator('input[name=login]').fill(name);
    await page.locator('input[name=password]').fill('any');
    await page.locator('button[type=submit]').click();
    await page.getByRole('button', { name: 'Continue' }).click();
  }

  /** Waits until the page says so, with nothing of the issuer's answer left in its address. */
  async function says(page: Page, message: RegExp): Promise<void> {
    await page.getByRole('alert').filter({ hasText: message }).waitFor();
    expect(page.url()).not.toMatch(/code=|state=|error=/);
    await page
      .getByRole('button', { name: /^Sign in/ })
      .last()
      .waitFor();
  }

  describe('as it is set up', () => {
    beforeAll(async () => {
      await startIssuer();
      await startService();
    });
    afterEach(closeWindows);
    afterAll(stopAll);

    it('exchanges the code with PKCE and works with the ID token where the access token is not a JWT', async () => {
      const page = await open();
      await signInThere(page);
      await page.getByRole('heading', { level: 1, name: 'Explain' }).waitFor();
      await page.getByRole('complementary').getByText('finn').waitFor();
      await page.getByRole('complementary').getByText('read, review').waitFor();
      expect(page.url()).not.toMatch(/code|state/);
    });

    it('brings back what was typed before the session ended, although it leaves the page', async () => {
      const page = await open([/status of 403/]);
      const { url = '', key = '' } = program ?? {};
      const { body } = await send({ url }, 'POST', '/api/v1/decisions', {
        key,
        body: { type: 'name', title: 'Call it Nordwind', proposedBy: 'sara', riskLevel: 'low' },
      });
      await signInThere(page);
      await page.getByRole('link', { name: /^Inbox/ }).click();
      await page.getByRole('link', { name: 'Call it Nordwind' }).click();
      await page.getByLabel('Comment').fill('A good name, but');
      await send({ url }, 'POST', '/api/v1/agents/finn/suspend', { key, body: {} });
      await page.getByText('What you typed is kept in this tab').waitFor();
      await send({ url }, 'POST', '/api/v1/agents/finn/resume', { key, body: {} });
      // The issuer still knows them, and asks only whether to go on.
      await page.getByRole('button', { name: /^Sign in at/ }).click();
      await page.getByRole('button', { name: 'Continue' }).click();
      await page.getByRole('heading', { level: 1, name: 'Call it Nordwind' }).waitFor();
      expect(page.url()).toBe(`${url}/console/decisions/${String(body.id)}`);
      expect(await page.getByLabel('Comment').inputValue()).toBe('A good name, but');
      expect(await page.evaluate('sessionStorage.length')).toBe(0);
    });

    it('says so where the service knows nobody by the name in the token', async () => {
      const page = await open([/status of 403/]);
      await signInThere(page, 'sara');
      await says(page, /The token names no agent that its issuer may speak for. Ask an administrator whether you are/);
    });

    it('says so where the person cancels at the issuer', async () => {
      const page = await open();
      await page.getByRole('button', { name: /^Sign in at/ }).click();
      await page.getByRole('link', { name: /Cancel/ }).click();
      await says(page, /The issuer refused: End-User aborted interaction/);
    });

    it('refuses an answer that this tab did not ask for', async () => {
      const page = await open();
      await page.getByRole('button', { name: /^Sign in at/ }).click();
      await page.locator('input[name=login]').waitFor();
      await page.goto(`http://127.0.0.1:${port}/console/?code=foreign&state=forged`);
      await says(page, /The answer of the issuer is not to a request of this tab. Sign in again./);
    });
  });

  describe('that is set up in another way, or is gone', () => {
    afterEach(closeWindows);
    afterEach(stopAll);

    it('works with the access token where that is a JWT for the audience', async () => {
      await startIssuer('jwt');
      await startService({ audience: 'governance' });
      const page = await open();
      await signInThere(page);
      await page.getByRole('complementary').getByText('finn').waitFor();
    });

    it('works with the provider of the examples, at which the console is registered', async () => {
      await start([EXAMPLE]);
      await startService({ audience: 'https://governance.example.org', OIDC_SCOPE: 'openid read review' });
      const page = await open();
      await signInThere(page);
      await page.getByRole('complementary').getByText('finn').waitFor();
    });

    it('says which setting is wrong if no token fits', async () => {
      await startIssuer();
      await startService({ audience: 'another-audience' });
      const page = await open();
      await signInThere(page);
      await says(page, /not for the audience "another-audience". Set "audience" of this issuer/);
    });

    it('says which setting is wrong if the service cannot check the token', async () => {
      await startIssuer();
      const path = join(folder, 'keys-of-another.json');
      const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
      writeFileSync(
        path,
        JSON.stringify({ keys: [{ ...publicKey.export({ format: 'jwk' }), alg: 'RS256', kid: 'a' }] }),
      );
      await startService({ jwks: path });
      const page = await open([/status of 401/]);
      await signInThere(page);
      await says(page, /The service does not accept the token of the issuer. Check "jwks" in TOKEN_ISSUERS./);
    });

    it('says how to register the console where the issuer gives it no token', async () => {
      await startIssuer('confidential');
      await startService();
      const page = await open([/status of 40[01]/]);
      await signInThere(page);
      await says(page, /The issuer gave no token: client authentication failed.*"console".*public client/);
    });

    it('says what to check where the issuer does not allow requests from the page', async () => {
      await startIssuer('no-cors');
      await startService();
      const page = await open([/blocked by CORS policy/, /ERR_FAILED/]);
      await signInThere(page);
      await says(page, /No answer came from http:\S+\/token\. Check that it can be reached .*\(CORS\)/);
    });

    it('says what to check where the issuer is gone by the time that the person comes back', async () => {
      await startIssuer();
      await startService();
      const page = await open([/ERR_CONNECTION_REFUSED/]);
      await page.route('**/token', async (route) => {
        await stopIssuer();
        await route.continue();
      });
      await signInThere(page);
      await says(page, /No answer came from http:\S+\/token\./);
    });

    it('says so where the service cannot reach the issuer, and takes a key', async () => {
      await startIssuer();
      await stopIssuer();
      await startService();
      const page = await open();
      await page
        .getByText(/^The service cannot reach 127\.0\.0\.1:\d+ at the moment, so nobody can sign in there\./)
        .waitFor();
      expect(await page.getByRole('button', { name: /^Sign in at/ }).count()).toBe(0);
      await page.getByLabel('Your key').fill(program?.key ?? '');
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('heading', { level: 1, name: 'Explain' }).waitFor();
    });
  });
});
