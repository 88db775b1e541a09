import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAgent, createPolicy, issueKey } from '../../support/application/factories';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { type Parsed, send } from '../../support/application/send';
import { describeOnSqlite } from '../../support/database/database-kind';
import { buildCommandLine } from '../command-line';
import { RawConnection } from './raw-connection';
import { everything } from './real-servers';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const ACTIONS = ['echo', 'get-roots-list', 'toggle-simulated-logging', 'trigger-elicitation-request', 'read'];

describeOnSqlite('What gov mcp passes between a server and its client', () => {
  let app: TestApp;
  let folder: string;
  let environment: NodeJS.ProcessEnv;
  let connection: RawConnection;

  beforeAll(async () => {
    await buildCommandLine();
    app = await createTestApp({ environment: { RATE_LIMIT: '1000000' } });
    folder = mkdtempSync(join(tmpdir(), 'gov-mcp-passed-'));
    const { id } = await createAgent(app, { name: 'every', capabilities: ACTIONS });
    const { secret } = await issueKey(app, { name: 'every', scopes: ['execute'], agentId: id });
    environment = { GOVERNANCE_URL: app.url, GOVERNANCE_API_KEY: secret };
    await createPolicy(app, { actions: ACTIONS, resources: ['every/*'] });
    const config = join(folder, 'servers.json');
    writeFileSync(config, JSON.stringify({ mcpServers: { every: everything } }));
    const capabilities = { roots: { listChanged: true }, elicitation: {} };
    connection = await RawConnection.open([], environment, { words: ['--config', config], capabilities });
  });
  afterAll(async () => {
    await connection.close();
    rmSync(folder, { recursive: true });
    await app.close();
  });

  it('are the roots of the client, which a server asks for', async () => {
    const { id } = await connection.until(({ method }) => method === 'roots/list');
    connection.send({ id, result: { roots: [{ uri: 'file:///home/ann', name: 'home' }] } });
    connection.call('roots', 'get-roots-list');
    const { result } = await connection.until((message) => message.id === 'roots');
    expect(result.content[0].text).toContain('file:///home/ann');
  });

  it('are questions to the user, which name the server that asks', async () => {
    connection.call('ask', 'trigger-elicitation-request');
    const { id, params } = await connection.until(({ method }) => method === 'elicitation/create');
    expect(params.message).toMatch(/^every asks: /);
    connection.send({ id, result: { action: 'decline' } });
    const { result } = await connection.until((message) => message.id === 'ask');
    expect(JSON.stringify(result.content)).toMatch(/declined/i);
  });

  it('are its messages, from the level on that the client wants', async () => {
    connection.send({ id: 'level', method: 'logging/setLevel', params: { level: 'debug' } });
    expect((await connection.until((message) => message.id === 'level')).result).toEqual({});
    connection.call('log', 'toggle-simulated-logging');
    const { params } = await connection.until(({ method }) => method === 'notifications/message');
    expect(params).toMatchObject({ level: expect.any(String), data: expect.anything() });
  });

  it('is the trace that the client sends with its call, which the execution keeps', async () => {
    const _meta = { traceparent: `00-${TRACE}-00f067aa0ba902b7-01` };
    connection.send({
      id: 'traced',
      method: 'tools/call',
      params: { name: 'echo', arguments: { message: 'm' }, _meta },
    });
    await connection.until((message) => message.id === 'traced');
    const { data } = (await send(app, 'GET', `/api/v1/executions?traceId=${TRACE}`)).body;
    expect(data.map(({ action }: Parsed) => action)).toEqual(['echo']);
  });

  it('is not sampling, nor completion', async () => {
    connection.send({ id: 'complete', method: 'completion/complete', params: {} });
    const { error } = await connection.until((message) => message.id === 'complete');
    expect(error.message).toBe('gov mcp does not pass on completion/complete.');
  });
});
