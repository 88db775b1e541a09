import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { API_KEY } from '../../support/application/api-key';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { createEntity } from '../../support/application/factories';
import { type Parsed, send } from '../../support/application/send';
import { statistics } from '../../support/application/wire';

/** More than the operating system buffers for a client that does not read. */
const LARGE = { text: 'x'.repeat(16_000_000) };
/** Bytes of memory for answers. One large answer is more than half of it, and counts as half. */
const ROOM = 30_000_000;
const [HERE, ELSEWHERE, THIRD] = ['127.0.0.1', '127.0.0.2', '127.0.0.3'];

interface Answer {
  readonly status: number | undefined;
  readonly retryAfter: string | undefined;
  readonly body: Parsed;
}

describe('Large answers', () => {
  let app: TestApp;
  let path: string;
  const clients: Socket[] = [];

  beforeAll(async () => {
    app = await createTestApp({ environment: { BODY_LIMIT: '20000000', ANSWER_TOTAL_LIMIT: String(ROOM) } });
    path = `/api/v1/entities/${(await createEntity(app, { properties: LARGE })).id}`;
    await createEntity(app, { type: 'small' });
  });
  afterEach(async () => {
    clients.splice(0).forEach((client) => client.destroy());
    while ((await held()) > 0) await sleep(10);
  });
  afterAll(() => app.close());

  async function held(): Promise<number> {
    const { text } = await send(app, 'GET', '/metrics');
    return Number(/^governance_held_answer_bytes (\d+)$/m.exec(text)?.[1]);
  }

  async function untilHeld(answers: number): Promise<void> {
    while ((await held()) < (answers * ROOM) / 2) await sleep(10);
  }

  /** Sends a request, and reads nothing of the answer. */
  function ask(target = path, { from = HERE, headers = '', times = 1 } = {}): Socket {
    const { hostname, port } = new URL(app.url);
    const client = connect({ port: Number(port), host: hostname, localAddress: from });
    client.on('error', () => undefined).pause();
    client.write(`GET ${target} HTTP/1.1\r\nHost: x\r\nX-API-Key: ${API_KEY}\r\n${headers}\r\n`.repeat(times));
    clients.push(client);
    return client;
  }

  async function read(target: string, from: string): Promise<Answer> {
    const headers = { 'X-API-Key': API_KEY };
    const [response] = (await once(get(`${app.url}${target}`, { localAddress: from, headers }), 'response')) as [
      IncomingMessage,
    ];
    const text = (await response.setEncoding('utf8').toArray()).join('');
    return { status: response.statusCode, retryAfter: response.headers['retry-after'], body: JSON.parse(text) };
  }

  function expectRefusal({ status, retryAfter, body }: Answer): void {
    expect([status, body.error.code]).toEqual([503, 'UNAVAILABLE']);
    expect(retryAfter).toMatch(/^[1-9]\d*$/);
  }

  it.each([
    ['a record', () => ask()],
    ['a list', () => ask('/api/v1/entities')],
    ['a record, to a client that has an old copy', () => ask(path, { headers: 'If-None-Match: "0"\r\n' })],
    ['several at once on one connection', () => ask(path, { times: 5 })],
  ])('that wait are counted until their client leaves: %s', async (_what, begin) => {
    const client = begin();
    await untilHeld(1);
    expectRefusal(await read(path, HERE));
    expectRefusal(await read('/api/v1/entities', HERE));
    expect(await held()).toBeLessThan(ROOM);
    client.destroy();
    while ((await held()) > 0) await sleep(10);
    expect((await read(path, HERE)).body.properties).toEqual(LARGE);
  });

  it('are counted until they are read', async () => {
    const client = ask();
    await untilHeld(1);
    client.resume();
    while ((await held()) > 0) await sleep(10);
    expect((await read(path, HERE)).status).toBe(200);
    expect(client.destroyed).toBe(false);
  });

  it('do not exclude other clients, until several clients together reach the limit', async () => {
    ask();
    await untilHeld(1);
    expect((await read(path, ELSEWHERE)).body.properties).toEqual(LARGE);
    ask(path, { from: ELSEWHERE });
    await untilHeld(2);
    expectRefusal(await read(path, THIRD));
  });

  it('do not exclude small ones, and nothing is written whose answer might have no room', async () => {
    ask();
    await untilHeld(1);
    expect((await read('/api/v1/entities?type=small', HERE)).body.data).toHaveLength(1);
    expect((await read('/api/v1/health', HERE)).status).toBe(200);
    const before = await statistics(app);
    const refused = await send(app, 'POST', '/api/v1/entities', { body: { type: 'small', name: 'other' } });
    expect([refused.status, refused.body.error.code]).toEqual([503, 'UNAVAILABLE']);
    expect(refused.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    expect(await statistics(app)).toEqual(before);
  });
});
