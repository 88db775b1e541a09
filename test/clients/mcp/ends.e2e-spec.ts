import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EXECUTIONS } from '../../approvals/support';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { createAgent, createPolicy, issueKey } from '../../support/application/factories';
import { type Parsed, send } from '../../support/application/send';
import { describeOnSqlite } from '../../support/database/database-kind';
import { until } from '../../faults/support/watch';
import { buildCommandLine } from '../command-line';
import { openDoor, type ServiceDoor } from '../gateway/service-door';
import { ENVELOPE, RawConnection } from './raw-connection';

const SERVER = join(__dirname, 'turning-server.mjs');
/** Requests whose answers take more than a pipe holds, but no more than is read while they are unread. */
const UNREAD = 500;

describeOnSqlite('gov mcp, when it has to end', () => {
  let app: TestApp;
  let door: ServiceDoor;
  let folder: string;
  let runs: string;
  let environment: NodeJS.ProcessEnv;

  beforeAll(async () => {
    await buildCommandLine();
    app = await createTestApp({ environment: { RATE_LIMIT: '1000000' } });
    door = await openDoor(app.url);
    folder = mkdtempSync(join(tmpdir(), 'gov-mcp-ends-'));
    runs = join(folder, 'runs');
    const actions = ['echo', 'die'];
    await createPolicy(app, { resources: ['tool/shop/*'], resourceTypes: ['tool'], actions });
    const { id: agentId } = await createAgent(app, { name: 'shopper', capabilities: actions });
    const { secret } = await issueKey(app, { name: 'shopper', scopes: ['execute'], agentId });
    environment = { GOVERNANCE_URL: door.url, GOVERNANCE_API_KEY: secret };
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true });
    await door.close();
    await app.close();
  });

  const echoes = async (): Promise<Parsed[]> => (await send(app, 'GET', `${EXECUTIONS}?action=echo`)).body.data;

  it('answers a call that it is still asking about when its only server ends, which it does not start again', async () => {
    const connection = await RawConnection.open([SERVER, runs], environment);
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    door.answerTurnOf = (path) => (path.endsWith('/execute') ? held : Promise.resolve());
    connection.call(1, 'echo');
    await until('the call is authorised', async () => (await echoes())[0]?.outcome === 'authorized');
    door.answerTurnOf = () => Promise.resolve();
    connection.call(2, 'die');
    await connection.until(({ id }) => id === 2);
    release();
    expect(await connection.exitCode()).toBe(1);
    const text = 'echo failed: The MCP server, or the session of its client, has ended.';
    const answer = connection.received.find(({ id }) => id === 1);
    expect(answer?.result).toEqual({ isError: true, content: [{ type: 'text', text }] });
    expect(existsSync(runs) && readFileSync(runs, 'utf8')).toBe('die\n');
    expect((await echoes()).map(({ outcome }) => outcome)).toEqual(['failed']);
  });

  it.each([
    ['answers', false, () => ({ method: 'x'.repeat(1_000) })],
    ['answers without a handshake', true, () => ({ method: 'x'.repeat(1_000), params: { _meta: ENVELOPE } })],
    [
      'subscriptions',
      true,
      () => ({
        method: 'subscriptions/listen',
        params: { _meta: ENVELOPE, notifications: { toolsListChanged: true } },
      }),
    ],
  ])('ends although its client leaves %s unread', async (title, isModern, request) => {
    const connection = await RawConnection.open([SERVER, runs], environment, { isModern });
    connection.pause();
    for (let id = 0; id < UNREAD; id += 1) connection.send({ id, ...request() });
    const params = { name: 'echo', arguments: { title }, _meta: ENVELOPE };
    connection.send({ id: 'last', method: 'tools/call', params });
    await until('all lines are read', async () =>
      (await echoes()).some(({ parameters }) => parameters?.title === title),
    );
    await connection.terminate();
    expect(await connection.exitCode()).toBe(0);
  });
});
