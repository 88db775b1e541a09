import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { API_KEY } from '../../support/application/api-key';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { describeOnSqlite } from '../../support/database/database-kind';
import { issueKey } from '../../support/application/factories';
import { openHttpProxy } from '../../support/application/http-proxy';
import { ROOT } from '../../support/documents/markdown';
import { keepSecret } from '../../support/application/secret-watch';
import { send } from '../../support/application/send';
import type { ProgramRun } from '../../support/processes/shell';
import { buildCommandLine, gov, MAIN } from '../command-line';

const DEMO = join(ROOT, 'examples', 'demo.json');

/** The part of its file that the tests use. */
interface Company {
  readonly agents: readonly unknown[];
  readonly entities: readonly { readonly claims: readonly unknown[] }[];
  readonly keys: readonly { readonly agent: string; readonly name?: string }[];
  readonly decisions: readonly object[];
}

/** The part of a service's rate limit that `gov seed` may use. */
const REQUESTS = 64;

describeOnSqlite('The demo company', () => {
  let app: TestApp;
  let home: string;

  beforeAll(async () => {
    await buildCommandLine();
  });
  beforeEach(async () => {
    home = mkdtempSync(join(tmpdir(), 'gov-home-'));
    app = await createTestApp();
  });
  afterEach(async () => {
    rmSync(home, { recursive: true });
    await app.close();
  });

  function seed(words: readonly string[] = [], key = API_KEY, url = app.url): Promise<ProgramRun> {
    const environment = { XDG_CONFIG_HOME: home, GOVERNANCE_URL: url, GOVERNANCE_API_KEY: key };
    return gov(['seed', ...words], { environment });
  }

  async function list(path: string, key = API_KEY): Promise<Record<string, unknown>[]> {
    const { body } = await send(app, 'GET', `/api/v1/${path}`, { headers: { 'X-API-Key': key } });
    return body.data;
  }

  it('is made, and its keys are shown, even if nobody reads how far it has come', async () => {
    const environment = { XDG_CONFIG_HOME: home, GOVERNANCE_URL: app.url, GOVERNANCE_API_KEY: API_KEY };
    const program = spawn(process.execPath, [MAIN, 'seed', '--json'], { env: { ...process.env, ...environment } });
    program.stderr.destroy();
    const [output, [exitCode]] = await Promise.all([text(program.stdout), once(program, 'close')]);
    expect(exitCode).toBe(0);
    const keys: { secret: string }[] = JSON.parse(output);
    keys.forEach(({ secret }) => keepSecret(secret));
    expect(await list('api-keys')).toHaveLength(keys.length);
  });

  it('has everything that its file describes, with keys that work', async () => {
    const { exitCode, output } = await seed(['--json']);
    expect(exitCode).toBe(0);
    const keys: { agent: string; secret: string }[] = JSON.parse(output);
    keys.forEach(({ secret }) => keepSecret(secret));
    const file = JSON.parse(readFileSync(DEMO, 'utf8'));
    const { body: counts } = await send(app, 'GET', '/api/v1/stats');
    expect(counts).toMatchObject({
      ...{ agents: file.agents.length, entities: file.entities.length, policies: file.policies.length },
      claims: file.entities.flatMap(({ claims }: { claims: unknown[] }) => claims).length,
    });
    const outcomes = (await list('executions')).map(({ action, outcome }) => `${String(action)} ${String(outcome)}`);
    expect(outcomes).toHaveLength(file.executions.length);
    expect(new Set(outcomes)).toEqual(
      new Set([
        ...['refund executed', 'refund rejected', 'refund pending_approval', 'export-data denied'],
        ...['look-up executed', 'pay-invoice executed', 'pay-invoice pending_approval'],
        ...['deploy executed', 'deploy failed', 'deploy pending_approval'],
      ]),
    );
    const [alone, decidedExecution] = await list('executions?action=pay-invoice&order=asc');
    expect([alone?.['decisionId'], decidedExecution?.['decisionId']]).toEqual([null, expect.any(String)]);
    const [run] = await list('grants');
    expect(run).toMatchObject({ status: 'active', uses: 10, used: 1, parametersHash: null });
    const ann = keys.find(({ agent }) => agent === 'ann')?.secret;
    const waiting = await list('decisions?awaiting=ann', ann);
    const about = await list(`entities/${String(waiting[0]?.['title']).split('/').at(-1) ?? ''}/claims`, ann);
    expect(about.map(({ value }) => value)).toEqual(
      expect.arrayContaining(['SE35 5000 0000 0549 1000 0003', 'GB33 BUKB 2020 1555 5555 55']),
    );
    const verified = await send(app, 'POST', '/api/v1/provenance/verify', { body: { state: true } });
    expect(verified.body.valid).toBe(true);
  });

  it.each([
    [
      'a later part',
      (file: Company) => ({ ...file, decisions: [{ ...file.decisions[0], proposedBy: 'nobody' }] }),
      0,
      'agent "nobody"',
    ],
    [
      'one of the keys',
      (file: Company) => ({ ...file, keys: file.keys.with(-1, { name: 'x', agent: 'nobody' }) }),
      1,
      'scopes is required',
    ],
  ])('shows the keys that it issued before %s failed', async (_, changed, unissued, message) => {
    const company: Company = JSON.parse(readFileSync(DEMO, 'utf8'));
    const file = join(home, 'company.json');
    writeFileSync(file, JSON.stringify(changed(company)));
    const { exitCode, output, errors } = await seed([file, '--json']);
    expect([exitCode, errors]).toEqual([1, expect.stringContaining(message)]);
    const keys: { agent: string; secret: string }[] = JSON.parse(output);
    keys.forEach(({ secret }) => keepSecret(secret));
    const agents = company.keys.map(({ agent }) => agent);
    expect(keys.map(({ agent }) => agent)).toEqual(agents.slice(0, agents.length - unissued));
    for (const { secret } of keys) {
      expect((await send(app, 'GET', '/api/v1/me', { headers: { 'X-API-Key': secret } })).status).toBe(200);
    }
  });

  it('shows people the keys of what is incomplete, and says that it is', async () => {
    const company: Company = JSON.parse(readFileSync(DEMO, 'utf8'));
    const file = join(home, 'company.json');
    writeFileSync(file, JSON.stringify({ ...company, decisions: [{ proposedBy: 'nobody' }] }));
    const { output } = await seed([file]);
    expect(output).toContain('is incomplete');
    const secrets = output.match(/agk_\S+/g) ?? [];
    secrets.forEach(keepSecret);
    expect(secrets).toHaveLength(company.keys.length);
  });

  it('shows the keys that it issued before it was interrupted, and the one that was under way', async () => {
    const { agents, entities }: Company = JSON.parse(readFileSync(DEMO, 'utf8'));
    // Who asks, what is there, the plan, the application, and two keys.
    const before = 6 + agents.length + entities.length + entities.flatMap(({ claims }) => claims).length;
    const proxy = await openHttpProxy(app.url);
    let release = (): void => undefined;
    const released = new Promise<'pass'>((resolve) => (release = () => resolve('pass')));
    proxy.treatments.push(...Array.from({ length: before }, () => 'pass' as const), released);
    const own = { XDG_CONFIG_HOME: home, GOVERNANCE_URL: proxy.url, GOVERNANCE_API_KEY: API_KEY };
    const program = spawn(process.execPath, [MAIN, 'seed', '--json'], { env: { ...process.env, ...own } });
    let [output, errors] = ['', ''];
    program.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
    program.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
    const closed = once(program, 'close');
    while (proxy.received.length <= before) await sleep(20);
    program.kill('SIGINT');
    while (!errors.includes('Interrupted') && program.exitCode === null && program.signalCode === null) await sleep(20);
    release();
    expect(await closed).toEqual([130, null]);
    proxy.close();
    const keys: { agent: string; secret: string }[] = JSON.parse(output);
    keys.forEach(({ secret }) => keepSecret(secret));
    expect(keys).toHaveLength(3);
    for (const { secret } of keys) {
      expect((await send(app, 'GET', '/api/v1/me', { headers: { 'X-API-Key': secret } })).status).toBe(200);
    }
  });

  it('takes 64 requests at most', async () => {
    const limited = await createTestApp({ environment: { RATE_LIMIT: String(REQUESTS), RATE_WINDOW: '3600000' } });
    try {
      expect(await seed([], API_KEY, limited.url)).toMatchObject({
        exitCode: 0,
        output: expect.stringContaining('GOVERNANCE_API_KEY'),
      });
    } finally {
      await limited.close();
    }
  });

  it('is created only in an empty service, by an admin, from a complete file', async () => {
    const auditor = await issueKey(app, { name: 'auditor', scopes: ['read', 'audit', 'agents'] });
    expect(await seed([], auditor.secret)).toMatchObject({
      exitCode: 1,
      errors: expect.stringContaining('scope admin'),
    });
    const half = join(home, 'half.json');
    writeFileSync(half, '{"agents": []}');
    expect(await seed([half])).toMatchObject({ exitCode: 1, errors: expect.stringContaining('entities, policies') });
    expect(await seed([join(home, 'none.json')])).toMatchObject({
      exitCode: 1,
      errors: expect.stringContaining('none.json'),
    });
    await send(app, 'POST', '/api/v1/agents', { body: { name: 'first' } });
    const refused = await seed();
    expect(refused).toMatchObject({ exitCode: 1, errors: expect.stringContaining('empty service only') });
    expect(await list('agents')).toHaveLength(1);
  });
});
