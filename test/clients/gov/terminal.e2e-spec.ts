import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { EXECUTIONS } from '../../approvals/support';
import { API_KEY } from '../../support/application/api-key';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { createAgent, createPolicy, issueKey } from '../../support/application/factories';
import { send } from '../../support/application/send';
import { describeOnSqlite } from '../../support/database/database-kind';
import { ROOT } from '../../support/documents/markdown';
import { buildCommandLine, gov, MAIN } from '../command-line';

const SOURCES = join(ROOT, 'clients', 'cli', 'src');

/** Erases the line, writes from right to left, breaks lines, and shows nothing. */
const HOSTILE =
  'paid\u009b2K\u007f\u0085\u202e\u2066\u2028\u2029\u200b\u00ad\u3164\u115f\ufe0f\u{e0041}\u001b[2K\nVALID';
/** Characters that text by others must not bring to a terminal. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u;

describeOnSqlite('What the command line writes to a terminal', () => {
  let app: TestApp;
  let environment: NodeJS.ProcessEnv;

  beforeAll(async () => {
    await buildCommandLine();
    app = await createTestApp();
    environment = { GOVERNANCE_URL: app.url, GOVERNANCE_API_KEY: API_KEY };
  });
  afterAll(async () => {
    await app.close();
  });

  it('is JSON that equals the record, and holds nothing of an agent that acts on the terminal', async () => {
    const { id } = await createAgent(app, { name: 'bot', capabilities: ['pay'] });
    await createPolicy(app, { actions: ['pay'] });
    const request = { action: 'pay', resourceType: 'bill', resourceId: '1', parameters: { [HOSTILE]: [HOSTILE, 1] } };
    const { body } = await send(app, 'POST', `/api/v1/agents/${id}/execute`, { body: request });
    for (const [words, expected] of [
      [['show', body.id], (await send(app, 'GET', `${EXECUTIONS}/${String(body.id)}`)).body],
      [['executions', '--json'], (await send(app, 'GET', EXECUTIONS)).body.data],
    ] as const) {
      const { exitCode, output } = await gov(words, { environment });
      expect(exitCode).toBe(0);
      expect(JSON.parse(output)).toEqual(expected);
      expect(output.replaceAll('\n', '')).not.toMatch(UNSEEN);
    }
  });

  it('holds nothing of the kind in events either, which stay one on each line', async () => {
    const { id } = await issueKey(app, { name: 'job', scopes: ['read'] });
    await send(app, 'POST', `/api/v1/api-keys/${id}/revoke`, { body: { reason: HOSTILE } });
    const words = [MAIN, 'events', '--after', '0', '--action', 'api_key.revoked', '--json'];
    const program = spawn(process.execPath, words, { env: { ...process.env, ...environment } });
    const [line] = await once(createInterface({ input: program.stdout }), 'line');
    program.kill();
    await once(program, 'close');
    expect(JSON.parse(line).reason).toBe(HOSTILE);
    expect(line).not.toMatch(UNSEEN);
  });

  it('shows who somebody is, and who is still needed, with escapes for what cannot be seen', async () => {
    const answers: Record<string, object> = {
      '/api/v1/me': { actor: { type: 'token', id: HOSTILE }, agentId: HOSTILE, scopes: [HOSTILE], expiresAt: null },
      '/api/v1/decisions/dec_1/approve': {
        ...{ id: 'dec_1', status: 'proposed', requiredApprovals: 1, reviews: [] },
        approvers: [{ subjects: [HOSTILE], approvals: 1, given: 0 }],
      },
    };
    const server = createServer(({ url }, response) => {
      response.writeHead(200, { 'Content-Type': 'application/json' });
      response.end(JSON.stringify(answers[String(url)]));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const elsewhere = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    for (const words of [['whoami'], ['approve', 'dec_1', '--yes']]) {
      const { output, errors } = await gov(words, { environment: { ...environment, GOVERNANCE_URL: elsewhere } });
      expect([output, errors]).toEqual([expect.stringContaining('paid\\u009b2K'), '']);
      expect(output).not.toMatch(/^VALID/m);
      expect(output.replaceAll('\n', '')).not.toMatch(UNSEEN);
    }
    server.close();
  });

  it.each([
    [['show', HOSTILE], 'is not the id of a record'],
    [['usage', HOSTILE], 'is in force.'],
    [['evidence', 'exe_1', '--verify', '--service', HOSTILE], 'that folder holds no'],
    [['audit', '--agent-id', HOSTILE], 'There is no agent'],
  ])('shows an argument within one line of the error: %j', async (words, expected) => {
    const { exitCode, errors } = await gov(words, { environment });
    expect([exitCode, errors]).toEqual([1, expect.stringContaining(expected)]);
    expect(errors).toContain('paid\\u009b2K');
    expect(errors.trimEnd()).not.toMatch(UNSEEN);
  });

  it('goes through one place, which lets nothing through that acts on a terminal', () => {
    const sources = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
    const writing = sources.filter((name) =>
      /process\.std(?:out|err)\.write\(/.test(readFileSync(join(SOURCES, name), 'utf8')),
    );
    expect(writing).toEqual(['output.ts']);
  });

  it('shows errors by others, and names, with escapes for what cannot be seen', async () => {
    const server = createServer((_, response) => {
      response.writeHead(404, { 'Content-Type': 'application/json' });
      response.end(JSON.stringify({ error: { code: 'NOT_FOUND', message: `There is none: ${HOSTILE}.` } }));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const elsewhere = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { exitCode, errors } = await gov(['whoami'], { environment: { ...environment, GOVERNANCE_URL: elsewhere } });
    server.close();
    expect([exitCode, errors]).toEqual([1, expect.stringContaining('There is none: paid\\u009b2K')]);
    expect(errors.trimEnd()).not.toMatch(UNSEEN);
    await createPolicy(app, { name: `far\u3000${' '.repeat(40)}name`, actions: ['b'] });
    expect((await gov(['policies'], { environment })).output).toMatch(/far\\u3000 {4}(\\u0020){36}name/);
    await createPolicy(app, { name: 'filled \u3164\u2028\ufe0f name', actions: ['b'] });
    const { output } = await gov(['policies'], { environment });
    expect(output).toContain('filled \\u3164\\u2028\\ufe0f name');
    expect(output.replaceAll('\n', '')).not.toMatch(UNSEEN);
  });
});
