import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { createAgent, createPolicy, issueKey } from '../../support/application/factories';
import { describeOnSqlite } from '../../support/database/database-kind';
import { until } from '../../faults/support/watch';
import { buildCommandLine } from '../command-line';
import { CLI, TOOL_SERVER } from './mcp-clients';
import { RawConnection } from './raw-connection';

const PRELOADS = ['short-waits.cjs', 'refused-signals.cjs'].map((file) => `--require ${join(__dirname, file)}`);
/** Milliseconds that a server has to end. */
const END = 2_000;

describeOnSqlite('A server of another user, which refuses signals', () => {
  let app: TestApp;
  let folder: string;
  let runs: string;
  let pids: string;
  let words: string[];
  let environment: NodeJS.ProcessEnv;

  beforeAll(async () => {
    await buildCommandLine();
    app = await createTestApp({ environment: { RATE_LIMIT: '1000000' } });
    folder = mkdtempSync(join(tmpdir(), 'gov-mcp-signals-'));
    [runs, pids] = [join(folder, 'runs'), join(folder, 'pids')];
    for (const file of [runs, pids]) writeFileSync(file, '');
    const serverOf = (...args: string[]): object => ({ command: process.execPath, args });
    const stubborn = serverOf(join(__dirname, 'stubborn-server.mjs'), pids);
    const shop = serverOf(TOOL_SERVER, CLI, runs, 'stdio', 'legacy', 'held');
    const config = join(folder, 'servers.json');
    writeFileSync(config, JSON.stringify({ mcpServers: { stubborn, shop } }));
    words = ['--config', config];
    const actions = ['garble', 'echo', 'held'];
    await createPolicy(app, { resources: ['*'], actions });
    const { id: agentId } = await createAgent(app, { name: 'caller', capabilities: actions });
    const { secret } = await issueKey(app, { name: 'caller', scopes: ['execute'], agentId });
    const preload = { NODE_OPTIONS: PRELOADS.join(' '), SHORT_WAITS: String(END) };
    environment = { GOVERNANCE_URL: app.url, GOVERNANCE_API_KEY: secret, ...preload };
  });
  afterAll(async () => {
    endServers();
    rmSync(folder, { recursive: true });
    await app.close();
  });

  function endServers(): void {
    for (const pid of readFileSync(pids, 'utf8').split('\n').filter(Boolean)) process.kill(Number(pid), 'SIGKILL');
    writeFileSync(pids, '');
  }

  it('is let go, while calls of others go on, and started again for its next call', async () => {
    const connection = await RawConnection.open([], environment, { words });
    connection.call('held', 'shop__held');
    await until('the call runs', () => Promise.resolve(readFileSync(runs, 'utf8') !== ''));
    connection.call('garbled', 'stubborn__garble');
    const garbled = await connection.until(({ id }) => id === 'garbled');
    expect(garbled.result).toMatchObject({ isError: true, content: [{ text: expect.stringContaining('not known') }] });
    writeFileSync(`${runs}.go`, '');
    const held = await connection.until(({ id }) => id === 'held');
    expect(held.result).not.toHaveProperty('isError');
    connection.call('next', 'stubborn__echo');
    const next = await connection.until(({ id }) => id === 'next');
    expect(next.result.content).toEqual([{ type: 'text', text: 'done' }]);
    await connection.terminate();
    // Its servers have its standard error, too.
    endServers();
    expect(await connection.exitCode()).toBe(0);
    expect(connection.errors).not.toContain('EPERM');
  });
});
