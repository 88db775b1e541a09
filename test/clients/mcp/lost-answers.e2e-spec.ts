import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { EXECUTIONS } from '../../approvals/support';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { createAgent, createPolicy, issueKey } from '../../support/application/factories';
import { type Parsed, send } from '../../support/application/send';
import { describeOnSqlite } from '../../support/database/database-kind';
import { buildCommandLine } from '../command-line';
import { startAnswerlessServer } from './answerless-server';
import { type Connection, connectThroughProxy, textOf } from './mcp-clients';
import { RawConnection } from './raw-connection';

const LOST = [
  'cut',
  'ended',
  'flooded',
  'accepted',
  'mistaken',
  'overdue',
  'hurried',
  'dropped',
  'moved',
  'reset',
  'malformed',
];
const KNOWN = ['answered', 'streamed', 'refused', 'forbidden', 'scoped'];
const NOT_KNOWN = /^It is not known what \w+ has done: [^]* Do not call it again before somebody has looked\.$/;

describeOnSqlite('gov mcp, when the answer of a tool is lost', () => {
  let app: TestApp;
  let folder: string;
  let agentId: string;
  let environment: NodeJS.ProcessEnv;
  let server: { url: string; close: () => Promise<void> };
  let connection: Connection;

  beforeAll(async () => {
    await buildCommandLine();
    app = await createTestApp();
    folder = mkdtempSync(join(tmpdir(), 'gov-mcp-lost-'));
    agentId = (await createAgent(app, { name: 'bot', capabilities: [...LOST, ...KNOWN, 'die'] })).id;
    await createPolicy(app, { actions: ['*'], resources: ['tool/shop/*'], resourceTypes: ['tool'] });
    const { secret } = await issueKey(app, { name: 'bot', scopes: ['execute'], agentId });
    environment = { GOVERNANCE_URL: app.url, GOVERNANCE_API_KEY: secret };
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true });
    await app.close();
  });
  beforeEach(async () => {
    server = await startAnswerlessServer();
    const options = { way: 'stdio', era: 'legacy', runs: '', environment, server: server.url } as const;
    connection = await connectThroughProxy(options);
  });
  afterEach(async () => {
    await connection.close();
    await server.close();
  });

  async function newest(): Promise<Parsed> {
    const query = `agentId=${agentId}&order=desc&limit=1`;
    return (await send(app, 'GET', `${EXECUTIONS}?${query}`)).body.data[0];
  }

  it.each(LOST)('says so at once, and keeps on record that it is not known what was done: %s', async (name) => {
    const result = await connection.client.callTool({ name });
    expect(result.isError).toBe(true);
    expect(textOf(result)).toMatch(NOT_KNOWN);
    const failureReason = expect.stringMatching(NOT_KNOWN);
    expect(await newest()).toMatchObject({ action: name, outcome: 'failed', failureReason });
    expect(textOf(await connection.client.callTool({ name: 'answered' }))).toBe('done');
  });

  it('passes on what came before the stream of its answer ended', async () => {
    for (let calls = 0; calls < 20; calls += 1) {
      expect(textOf(await connection.client.callTool({ name: 'streamed' }))).toBe('done');
    }
    expect(await newest()).toMatchObject({ outcome: 'executed', failureReason: null });
  });

  it('calls a refusal a failure', async () => {
    for (const [name, reason] of [
      ['refused', 'The till is empty.'],
      ['forbidden', 'Not you.'],
      ['scoped', 'Insufficient scope: required "till"'],
    ] as const) {
      const result = await connection.client.callTool({ name });
      expect(result.isError).toBe(true);
      expect(textOf(result)).toMatch(new RegExp(`^${name} failed: .*${reason}$`));
      expect(await newest()).toMatchObject({ outcome: 'failed', failureReason: expect.stringContaining(reason) });
    }
  });

  it('calls it a failure if the call was never sent', async () => {
    await server.close();
    const result = await connection.client.callTool({ name: 'answered' });
    expect(textOf(result)).toMatch(/^answered failed: /);
    expect(await newest()).toMatchObject({ outcome: 'failed', failureReason: expect.not.stringContaining('known') });
  });

  it('says so before it ends, if a server over pipes dies while the tool runs, and does not blame the client', async () => {
    const program = join(__dirname, 'turning-server.mjs');
    const raw = await RawConnection.open([program, join(folder, 'runs')], environment, { words: ['--name', 'shop'] });
    raw.call(1, 'die');
    expect(await raw.exitCode()).toBe(1);
    const [answer] = raw.received.filter(({ id }) => id === 1);
    expect(answer?.result).toMatchObject({ isError: true, content: [{ text: expect.stringMatching(NOT_KNOWN) }] });
    expect(raw.errors).toBe('The MCP server ended by itself, so gov mcp ends as well.\n');
    for (let looks = 0; looks < 500 && (await newest()).outcome !== 'failed'; looks += 1) await sleep(20);
    const failureReason = expect.stringMatching(NOT_KNOWN);
    expect(await newest()).toMatchObject({ action: 'die', outcome: 'failed', failureReason });
  });
});
