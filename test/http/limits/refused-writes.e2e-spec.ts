import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { API_KEY } from '../../support/application/api-key';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { send } from '../../support/application/send';

const CLIENTS = 12;
/** Number by which connections may exceed clients. */
const MAX_MORE_CONNECTIONS = 60;

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}

describe('Refused writes', () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await createTestApp({ environment: { LOG_LEVEL: 'warn', RATE_LIMIT: '1000000' } });
  });
  afterAll(() => app.close());

  async function statusOf(agent: Agent, key: string, body: string): Promise<number | undefined> {
    const { hostname, port } = new URL(app.url);
    const headers = { 'x-api-key': key, 'content-type': 'application/json', 'content-length': body.length };
    const sent = request({ hostname, port, agent, method: 'POST', path: '/api/v1/entities', headers });
    // The body follows its head, as it does from a slower client.
    sent.flushHeaders();
    setImmediate(() => sent.end(body));
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    await response.resume().toArray();
    return response.statusCode;
  }

  function connections(): Promise<number> {
    const server = app.application.getHttpServer();
    return new Promise((resolve, reject) => {
      server.getConnections((error: Error | null, count: number) => (error ? reject(error) : resolve(count)));
    });
  }

  it.each([
    ['connections of their own', false, 100, 150],
    ['kept connections', true, 100, 150],
    ['kept connections, with long bodies', true, 40_000, 20],
  ])('on %s are all answered, hold none, and leave others alone', async (_what, keepAlive, length, each) => {
    const body = JSON.stringify({ type: 'a', name: 'b', properties: { x: 'x'.repeat(length) } });
    const before = await connections();
    const most = { connections: 0 };
    const counts = new Map<unknown, number>();
    const attack = async (): Promise<void> => {
      const agent = new Agent({ keepAlive, maxSockets: 1 });
      for (let sent = 0; sent < each; sent += 1) {
        const end = await statusOf(agent, 'a-wrong-key', body).catch(codeOf);
        counts.set(end, (counts.get(end) ?? 0) + 1);
        most.connections = Math.max(most.connections, await connections());
      }
      agent.destroy();
    };
    let isOver = false;
    const others: unknown[] = [];
    const work = async (): Promise<void> => {
      while (!isOver) {
        const agent = new Agent();
        others.push(await statusOf(agent, API_KEY, body).catch(codeOf));
      }
    };
    const working = work();
    await Promise.all(Array.from({ length: CLIENTS }, attack));
    isOver = true;
    await working;
    expect([...counts]).toEqual([[401, CLIENTS * each]]);
    expect(most.connections - before).toBeLessThanOrEqual(CLIENTS + MAX_MORE_CONNECTIONS);
    expect(new Set(others)).toEqual(new Set([201]));
  });

  it('that are long are answered, too, to a client that sends all of it before it reads', async () => {
    const answer = await send(app, 'POST', '/api/v1/entities', { key: 'a-wrong-key', body: 'x'.repeat(900_000) });
    expect(answer.status).toBe(401);
    expect(answer.headers.get('connection')).toBe('close');
  });
});
