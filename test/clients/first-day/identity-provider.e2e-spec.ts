import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { API_KEY } from '../../support/application/api-key';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { chainIsValid } from '../../support/application/factories';
import { type CodeBlock, codeBlocks, readDocument, ROOT, section } from '../../support/documents/markdown';
import { send } from '../../support/application/send';
import { runBlocks } from '../../support/processes/shell';
import { differences, shownAnswers } from '../../support/application/shown-answers';
import { SignIn } from '../../access/sign-in';

const PAGE = readDocument('docs/identity-provider.md');
const HELPERS = codeBlocks(readDocument('docs/first-five-minutes.md'))[1]?.code ?? '';
const ISSUER = 'http://127.0.0.1:4000';
const AUDIENCE = 'https://governance.example.org';

function helpers(app: TestApp): string {
  return `${HELPERS}export API_KEY=${API_KEY} API=${app.url}/api/v1\n`;
}

/** Differences between an example of the page and what the commands before it printed. */
function faults(blocks: readonly CodeBlock[], printed: ReadonlyMap<string, string>): string[] {
  return blocks.flatMap(({ language, code }, index) => {
    if (language !== 'json') return [];
    const answers = (printed.get(blocks[index - 1]?.code ?? '') ?? '').trim().split('\n');
    const expectedAnswers = shownAnswers(code);
    if (answers.length !== expectedAnswers.length)
      return [`${expectedAnswers.length} answers are shown, there are ${answers.length}`];
    return answers.flatMap((answer, place) => differences(JSON.parse(answer), expectedAnswers[place]));
  });
}

/** The provider of the page, in a separate process, started as the page says. */
class IdentityProvider {
  private constructor(
    private readonly program: ChildProcess,
    readonly issuer: string,
  ) {}

  static async start(folder: string, code: string): Promise<IdentityProvider> {
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    writeFileSync(join(folder, 'provider.mjs'), code);
    const program = spawn(process.execPath, ['provider.mjs'], {
      cwd: folder,
      env: { PATH: process.env['PATH'], PORT: '0' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    for await (const line of createInterface(program.stdout)) {
      if (line.startsWith('http://')) return new IdentityProvider(program, line);
    }
    throw new Error('The provider ended before it listened.');
  }

  async stop(): Promise<void> {
    const ended = once(this.program, 'exit');
    this.program.kill();
    await ended;
  }
}

describe('An identity provider, as docs/identity-provider.md connects it', () => {
  const page = section(PAGE, '## The path, step by step');
  let folder: string;
  let provider: IdentityProvider;
  let app: TestApp;
  let blocks: readonly CodeBlock[];
  const printed = new Map<string, string>();

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'identity-provider-'));
    provider = await IdentityProvider.start(folder, readDocument('examples/identity-provider.mjs'));
    blocks = codeBlocks(page.replaceAll(ISSUER, provider.issuer));
    const commands = blocks.filter(({ language }) => language === 'sh').map(({ code }) => code);
    const last = commands.findIndex((code) => code.includes('device/auth'));
    const [entry = '', ...before] = commands.slice(0, last + 1);
    await runBlocks([HELPERS + entry], folder);
    app = await createTestApp({ environment: { TOKEN_ISSUERS: join(folder, 'issuers.json') } });
    const variables = await walk([entry, ...before], helpers(app));
    const uri = /"verification_uri_complete":"([^"]+)"/.exec(printed.get(before.at(-1) ?? '') ?? '')?.[1] ?? '';
    expect(await new SignIn({ login: 'ann', password: 'any' }).goThrough(uri)).toContain('Sign-in Success');
    await walk(commands.slice(last + 1), helpers(app) + variables);
  });
  afterAll(async () => {
    await provider.stop();
    await chainIsValid(app);
    await app.close();
    rmSync(folder, { recursive: true });
  });

  /** Runs blocks of the page, and returns the variables and functions that they set, as commands. */
  async function walk(commands: readonly string[], setUp: string): Promise<string> {
    const all = [setUp, ...commands, 'declare -p ISSUER AUDIENCE BOT_TOKEN EXECUTION SIGN_IN; declare -f bearer'];
    const outputs = await runBlocks(all, folder);
    commands.forEach((code, index) => printed.set(code, outputs[index + 1] ?? ''));
    return `${outputs.at(-1) ?? ''}\n`;
  }

  it('answers as the page shows, from the first step to the last', () => {
    expect(blocks.filter(({ language }) => language === 'json').length).toBeGreaterThan(3);
    expect(faults(blocks, printed)).toEqual([]);
  });

  it('has its tokens refused if they were issued for another audience, or if no scope is left', async () => {
    const me = async (audience: string, scope: string): Promise<unknown> => {
      const answer = await fetch(`${provider.issuer}/token`, {
        method: 'POST',
        headers: { Authorization: `Basic ${Buffer.from('invoice-bot:the-secret-of-invoice-bot').toString('base64')}` },
        body: new URLSearchParams({ grant_type: 'client_credentials', resource: audience, scope }),
      });
      const { access_token: token } = (await answer.json()) as { access_token: string };
      const { status, body } = await send(app, 'GET', '/api/v1/me', {
        key: null,
        headers: { Authorization: `Bearer ${token}` },
      });
      return [status, body.scopes];
    };
    expect(await me(AUDIENCE, 'execute')).toEqual([200, ['execute']]);
    expect(await me(AUDIENCE, '')).toEqual([200, []]);
    expect(await me('https://billing.example.org', 'execute')).toEqual([401, undefined]);
  });
});

describe('Keys, as docs/operations.md issues and rotates them', () => {
  it('answer as shown', async () => {
    const app = await createTestApp();
    const blocks = codeBlocks(section(readDocument('docs/operations.md'), '## Issued keys'));
    const [, output = ''] = await runBlocks([helpers(app), blocks[0]?.code ?? '']);
    expect(faults(blocks, new Map([[blocks[0]?.code ?? '', output]]))).toEqual([]);
    await app.close();
  });
});
