import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { approve, company, type Company } from '../../approvals/support';
import { API_KEY } from '../../support/application/api-key';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { describeOnSqlite } from '../../support/database/database-kind';
import { createAgent, createPolicy, issueKey, propose } from '../../support/application/factories';
import { codeBlocks, readDocument, ROOT, section } from '../../support/documents/markdown';
import { send } from '../../support/application/send';
import { run } from '../../support/processes/shell';
import { buildCommandLine, gov, MAIN } from '../command-line';
import { builtClient, CLIENT } from '../typescript-client';

const FILE = /^(?:\/\/|#) (payer\.\w+)\n/;
const WRITING = `policies:
  - { name: writing, version: "1", effect: deny, subjects: ["*"], actions: [write], resources: ["*"] }
tests:
  - { subject: { kind: machine }, action: write, resourceType: document, resourceId: a, expect: deny, by: writing }
`;
const README_URL = 'http://localhost:3000';
const PROGRAMS: Readonly<Record<string, string>> = { mjs: process.execPath, py: 'python3', sh: 'bash' };

interface IssuedKey {
  readonly agent: string;
  readonly secret: string;
}

const hasPython = spawnSync('python3', ['--version']).status === 0;
if (!hasPython) process.stdout.write('SKIPPED: payer.py of docs/integrations.md needs python3.\n');

/** The programs of docs/integrations.md by their names, and the one that lies in examples/. */
function programs(): [name: string, code: string][] {
  const documentedPrograms = codeBlocks(readDocument('docs/integrations.md')).flatMap<[string, string]>(({ code }) => {
    const name = FILE.exec(code)?.[1];
    return name === undefined || (name.endsWith('.py') && !hasPython) ? [] : [[name, code]];
  });
  return [...documentedPrograms, ['payer.sh', readDocument('examples/payer.sh')]];
}

describeOnSqlite('The programs of docs/integrations.md', () => {
  let app: TestApp;
  let people: Company;
  let folder: string;

  beforeAll(async () => {
    await builtClient();
    await buildCommandLine();
    folder = mkdtempSync(join(tmpdir(), 'integrations-'));
    mkdirSync(join(folder, 'node_modules'));
    symlinkSync(CLIENT, join(folder, 'node_modules', 'agent-governance-client'));
    app = await createTestApp();
    people = await company(app);
    const approval = { approvers: [{ subjects: ['role:finance'] }] };
    await createPolicy(app, { effect: 'require_approval', actions: ['send-payment'], approval });
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true });
    await app.close();
  });

  it('has an agent, a person, a policy and keys to begin with, made as printed', async () => {
    const own = await createTestApp();
    const [block] = codeBlocks(section(readDocument('docs/integrations.md'), '## Which key for whom'));
    const environment = { GOVERNANCE_URL: own.url, GOVERNANCE_API_KEY: API_KEY };
    const script = `set -euo pipefail\ngov() { '${process.execPath}' '${MAIN}' "$@"; }\n${block?.code ?? ''}`;
    const { exitCode, output, errors } = await run('bash', ['-c', script], { folder, environment });
    expect({ exitCode, errors }).toEqual({ exitCode: 0, errors: '' });
    expect(output.match(/"secret": "agk_/g)).toHaveLength(2);
    const words = ['explain', 'payer', 'send-payment', 'payment', 'payments/2026/0042'];
    expect((await gov(words, { environment })).output).toContain('needs 1 of role:finance');
    await own.close();
  });

  it.each(programs())(
    '%s asks, waits for the approval, acts and reports',
    async (name, code) => {
      writeFileSync(join(folder, name), code);
      const capabilities = ['send-payment'];
      const body = { name: `payer of ${name}`, capabilities };
      const payer = (await send(app, 'POST', '/api/v1/agents', { body })).body;
      const key = { name, scopes: ['execute'], agentId: payer.id };
      const environment = {
        ...{ GOVERNANCE_URL: app.url, GOVERNANCE_API_KEY: (await issueKey(app, key)).secret },
        ...{ PYTHONPATH: join(ROOT, 'clients', 'python'), PYTHONDONTWRITEBYTECODE: '1' },
      };
      const program = PROGRAMS[name.slice('payer.'.length)] ?? '';
      const running = run(program, [name], { folder, environment });
      const query = `agentId=${payer.id}`;
      let executions = [];
      for (let looks = 0; executions.length === 0 && looks < 1_500; looks += 1) {
        await sleep(20);
        executions = (await send(app, 'GET', `/api/v1/executions?${query}`)).body.data;
      }
      await approve(app, executions[0].decisionId, people.ann);
      expect(await running).toEqual({ exitCode: 0, output: '1200\n', errors: '' });
      const { data } = (await send(app, 'GET', `/api/v1/executions?${query}`)).body;
      expect(data).toEqual([expect.objectContaining({ outcome: 'executed', result: { sent: 1200 } })]);
    },
    300_000,
  );

  it('prints what the README shows for one agent connected', async () => {
    const own = await createTestApp();
    const environment = { GOVERNANCE_URL: own.url, GOVERNANCE_API_KEY: API_KEY };
    const issued = JSON.parse((await gov(['seed', '--json'], { environment })).output) as IssuedKey[];
    const blocks = codeBlocks(section(readDocument('README.md'), '## One agent connected'));
    const code = blocks.find(({ language }) => language === 'js')?.code ?? '';
    const documentedOutput = blocks.findLast(({ language }) => language === '')?.code ?? '';
    writeFileSync(
      join(folder, 'agent.mjs'),
      code.replace('./clients/typescript/dist/esm/index.js', 'agent-governance-client').replace(README_URL, own.url),
    );
    const AGENT_KEY = issued.find(({ agent }) => agent === 'refund-bot')?.secret ?? '';
    const { output, errors } = await run(process.execPath, ['agent.mjs'], { folder, environment: { AGENT_KEY } });
    expect(errors).toBe('');
    expect(output.replace(/dec_\w+/g, 'dec_…')).toBe(documentedOutput);
    await own.close();
  });

  it('keeps policies as files by the commands for pipelines, as printed', async () => {
    const own = await createTestApp();
    await createPolicy(own, { name: 'reading', version: '1', effect: 'allow', actions: ['read'] });
    const environment = { GOVERNANCE_URL: own.url, GOVERNANCE_API_KEY: API_KEY };
    const [block] = codeBlocks(section(readDocument('docs/integrations.md'), '## For pipelines: policies as files'));
    const codes: unknown[] = [];
    for (const line of (block?.code ?? '').trim().split('\n')) {
      const script = `gov() { '${process.execPath}' '${MAIN}' "$@"; }\n${line}`;
      const { exitCode, errors } = await run('bash', ['-c', script], { folder, environment });
      codes.push([line.split(' ')[2], exitCode, errors]);
      // What somebody adds to what was pulled.
      if (line.startsWith('gov policies pull')) writeFileSync(join(folder, 'policies', 'writing.yaml'), WRITING);
    }
    expect(codes).toEqual([
      ['pull', 0, ''],
      ['lint', 0, ''],
      ['test', 0, ''],
      ['plan', 2, ''],
      ['apply', 0, ''],
    ]);
    const { data } = (await send(own, 'GET', '/api/v1/policies?status=active')).body;
    expect(data.map(({ name }: { name: string }) => name)).toEqual(['reading', 'writing']);
    await own.close();
  });

  it('lets people see what waits for them, decide and ask why by the commands for people, as printed', async () => {
    const own = await createTestApp({ environment: { RATE_LIMIT: '1000000' } });
    const environment = { GOVERNANCE_URL: own.url, XDG_CONFIG_HOME: folder };
    const operator = { ...environment, GOVERNANCE_API_KEY: API_KEY };
    const seeded = await run(process.execPath, [MAIN, 'seed', '--json'], { folder, environment: operator });
    const keys = JSON.parse(seeded.output) as readonly { readonly agent: string; readonly secret: string }[];
    const secret = keys.find(({ agent }) => agent === 'ann')?.secret ?? '';
    const [block] = codeBlocks(section(readDocument('docs/integrations.md'), '## For people: the command line'));
    const lines = (block?.code ?? '').trim().split('\n');
    // `tour` has a test of its own: tour.e2e-spec.ts.
    expect(lines.shift()).toContain('-- tour ');
    const following = scriptOf(lines.pop());
    const outputs: string[] = [];
    for (const line of lines) {
      const decision = /dec_\w+/.exec(outputs.join())?.[0] ?? '';
      // There is no terminal: what approves everything does nothing, and one approval says that it is wanted.
      const isAll = line.includes('inbox --approve');
      const script = scriptOf(line.replace('dec_…', `${decision} --yes`));
      const { exitCode, output, errors } = await run('bash', ['-c', script], {
        folder,
        environment: line.includes('agents suspend') ? operator : environment,
        input: `${secret}\n`,
      });
      const expectedErrors = isAll ? expect.stringContaining('--yes') : expect.not.stringContaining('rror');
      expect({ line, exitCode, errors }).toEqual({ line, exitCode: isAll ? 1 : 0, errors: expectedErrors });
      if (!isAll) outputs.push(output);
    }
    expect(outputs).toEqual([
      expect.stringContaining(own.url),
      expect.stringMatching(/dec_\w+/),
      expect.stringMatching(/^dec_\w+ is /),
      expect.stringContaining('payables-pay-alone'),
      expect.stringContaining('refund-bot'),
    ]);

    const follower = spawn('bash', ['-c', following], { env: { ...process.env, ...operator }, cwd: folder });
    const ended = once(follower, 'close');
    let seen = '';
    follower.stdout.on('data', (text: Buffer) => (seen += text.toString()));
    const { id } = await createAgent(own, { name: 'proposer' });
    while (!seen.includes('decision.proposed')) {
      await propose(own, id);
      await sleep(200);
    }
    follower.kill('SIGINT');
    expect(await ended).toEqual([0, null]);
    await own.close();
  });

  /** A line for a clone, in a shell that becomes the command. */
  function scriptOf(line = ''): string {
    const words = line.replace('npm run gov --', 'gov');
    return `gov() { exec '${process.execPath}' '${MAIN}' "$@"; }\n${words}`;
  }
});

describeOnSqlite('An approval on a Saturday, as docs/integrations.md prepares for it', () => {
  it('takes the policy and the webhook as shown, and their entries lead to the execution', async () => {
    const blocks = codeBlocks(
      section(readDocument('docs/integrations.md'), '## When the approval comes on a Saturday'),
    );
    const [policy, webhook] = blocks.map(({ code }) => JSON.parse(code) as Record<string, unknown>);
    const app = await createTestApp();
    const ann = await createAgent(app, { name: 'ann', kind: 'human', roles: ['finance'] });
    await createAgent(app, { name: 'payment-bot', capabilities: ['send-payment'] });
    expect((await send(app, 'POST', '/api/v1/policies', { body: policy ?? {} })).status).toBe(201);
    expect((await send(app, 'POST', '/api/v1/webhooks', { body: webhook ?? {} })).status).toBe(201);
    const body = { action: 'send-payment', resourceType: 'payment', resourceId: 'payments/saturday' };
    const path = '/api/v1/agents/payment-bot/execute';
    const execution = (await send(app, 'POST', path, { body })).body;
    const decision = (await approve(app, execution.decisionId, ann)).body;
    expect(Date.parse(decision.expiresAt) - Date.parse(decision.createdAt)).toBe(3 * 86_400_000);
    const again = await send(app, 'POST', path, { body });
    expect([again.status, again.body.id, again.body.outcome]).toEqual([202, execution.id, 'approved']);
    for (const [action, agentId, subjectId] of [
      ['execution.approved', webhook?.['agentId'], execution.id],
      ['decision.approved', 'ann', execution.decisionId],
    ]) {
      const { data } = (await send(app, 'GET', `/api/v1/audit?action=${action}&agentId=${agentId}`)).body;
      expect(data[0]).toMatchObject({ subjectId });
      expect(Date.parse(again.body.approvedUntil) - Date.parse(data[0].timestamp)).toBe(3 * 86_400_000);
    }
    expect(webhook?.['actions']).toContain('execution.approved');
    expect((await send(app, 'POST', `/api/v1/executions/${execution.id}/resume`)).body.outcome).toBe('authorized');
    await app.close();
  });
});
