import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAgent } from '../support/application/factories';
import { ROOT } from '../support/documents/markdown';
import { startProgram, type StartedProgram } from '../support/processes/started-program';
import { describeInBrowser, type Page, TestBrowser } from './browser';

const MAIN = join(ROOT, 'dist', 'main.js');
const SERVER = join(__dirname, 'oidc-server.mjs');

/** A port that nothing listens on: the issuer has to know where it sends people before the service starts. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address !== null ? address.port : 0;
}

describeInBrowser('Signing in at an issuer', () => {
  let folder: string;
  let server: ChildProcess;
  let issuer: string;
  let port: number;
  let browser: TestBrowser;
  let program: StartedProgram | null = null;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'console-oidc-'));
    port = await freePort();
    const child = spawn(process.execPath, [SERVER, `http://127.0.0.1:${port}/console/`], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    server = child;
    let printed = '';
    issuer = await new Promise((resolve, reject) => {
      child.on('close', () => reject(new Error(`The issuer ended: ${printed}`)));
      child.stdout.on('data', (chunk: Buffer) => {
        printed += chunk.toString();
        const found = /^ISSUER (\S+)$/m.exec(printed)?.[1];
        if (found !== undefined) resolve(found);
      });
    });
    browser = await TestBrowser.launch();
  });
  afterEach(async () => {
    const faults = browser.takeFaults();
    await browser.closeWindows();
    await program?.stop();
    expect(faults).toEqual([]);
  });
  afterAll(async () => {
    await browser.close();
    const ended = once(server, 'close');
    server.kill();
    await ended;
    rmSync(folder, { recursive: true });
  });

  async function start(audience: string): Promise<Page> {
    const issuers = [{ issuer, audience, jwks: `${issuer}/jwks`, agents: ['agent:finn'], scopes: ['read', 'review'] }];
    const path = join(folder, 'issuers.json');
    writeFileSync(path, JSON.stringify(issuers));
    program = await startProgram(MAIN, {
      PORT: String(port),
      PUBLIC_URL: `http://127.0.0.1:${port}`,
      TOKEN_ISSUERS: path,
      OIDC_ISSUER: issuer,
      OIDC_CLIENT_ID: 'console',
    });
    await createAgent(program, { name: 'finn', kind: 'human', roles: ['finance'] });
    return browser.open(`${program.url}/console/explain`, {
      origins: [issuer],
      theirs: ['https://fonts.googleapis.com'],
    });
  }

  /** Signs in on the issuer's own pages. */
  async function signInThere(page: Page): Promise<void> {
    await page.getByRole('button', { name: /^Sign in at/ }).click();
    await page.locator('input[name=login]').fill('finn');
    await page.locator('input[name=password]').fill('any');
    await page.locator('button[type=submit]').click();
    await page.getByRole('button', { name: 'Continue' }).click();
  }

  it('takes the code with PKCE and works with the token', async () => {
    const page = await start('console');
    await signInThere(page);
    await page.getByRole('heading', { level: 1, name: 'Explain' }).waitFor();
    await page.getByRole('complementary').getByText('finn').waitFor();
    await page.getByRole('complementary').getByText('read, review').waitFor();
    expect(page.url()).not.toMatch(/code|state/);
  });

  it('says which setting is wrong where no token fits', async () => {
    const page = await start('another-audience');
    await signInThere(page);
    await page.getByText(/not for the audience "another-audience". Set "audience" of this issuer/).waitFor();
  });
});
