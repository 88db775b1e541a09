import { Body, Controller, Module, Post } from '@nestjs/common';
import { EventEmitter, once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { API_KEY } from '../../support/application/api-key';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { SampleRequest } from '../sample.module';
import { type Answer, send } from '../../support/application/send';

const PATH = '/api/v1/work';
/** Bytes: one client may hold two of these bodies, not three. */
const LARGE = 60_000;
const ROOM = 300_000;

/** Emits `begun` when a handler starts, which then runs until `end`. */
const work = new EventEmitter().setMaxListeners(0);

@Controller('work')
class WorkController {
  @Post()
  async work(@Body() { name }: SampleRequest): Promise<object> {
    const end = once(work, 'end');
    work.emit('begun');
    await end;
    return { name };
  }
}

@Module({ controllers: [WorkController] })
class WorkModule {}

describe('Large bodies', () => {
  let app: TestApp;
  const clients: Socket[] = [];
  /** Number of requests whose handler was started. */
  let begun = 0;
  work.on('begun', () => (begun += 1));

  beforeEach(async () => {
    begun = 0;
    app = await createTestApp({
      modules: [WorkModule],
      environment: { BODY_TOTAL_LIMIT: String(ROOM), BODY_LIMIT: String(LARGE) },
    });
  });
  afterEach(async () => {
    clients.splice(0).forEach((client) => client.destroy());
    await app.close();
  });

  function bodyOf(bytes: number): string {
    const rest = JSON.stringify({ name: 'a', value: 'b', properties: { a: '' } }).length;
    return JSON.stringify({ name: 'a', value: 'b', properties: { a: 'x'.repeat(bytes - rest) } });
  }

  function post(bytes = LARGE): Promise<Answer> {
    return send(app, 'POST', PATH, { body: bodyOf(bytes) });
  }

  /** Announces a large body, and sends the given part of it. */
  function begin(part = '{', headers = `Content-Length: ${LARGE}`, localAddress = '127.0.0.1'): Socket {
    const { hostname, port } = new URL(app.url);
    const client = connect({ port: Number(port), host: hostname, localAddress }).on('error', () => undefined);
    clients.push(client);
    client.write(`POST ${PATH} HTTP/1.1\r\nHost: x\r\nX-API-Key: ${API_KEY}\r\nContent-Type: application/json\r\n`);
    client.write(`${headers}\r\n\r\n${part}`);
    return client;
  }

  /** Repeatedly lets running handlers finish, until the promise is settled. */
  async function workUntil<Result>(promise: Promise<Result>): Promise<Result> {
    const ending = setInterval(() => work.emit('end'), 10);
    return promise.finally(() => clearInterval(ending));
  }

  async function room(): Promise<{ held: number; waiting: number }> {
    const { text } = await send(app, 'GET', '/metrics');
    const value = (name: string): number => Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1]);
    return { held: value('governance_held_body_bytes'), waiting: value('governance_waiting_bodies') };
  }

  async function untilRoom(held: number, waiting: number): Promise<void> {
    const isSo = async (): Promise<boolean> => {
      const now = await room();
      expect(now.held).toBeLessThanOrEqual(ROOM);
      return now.held === held && now.waiting === waiting;
    };
    while (!(await isSo())) await sleep(10);
  }

  /** A body is in memory before its handler runs. */
  async function untilBegun(count: number): Promise<void> {
    while (begun < count) await sleep(10);
  }

  it('wait for each other if there is no room for all, and each is answered', async () => {
    const answers = [post(), post()];
    await untilRoom(2 * LARGE, 0);
    answers.push(...Array.from({ length: 5 }, () => post()));
    for (const waiting of [5, 3, 1]) {
      await untilRoom(2 * LARGE, waiting);
      await untilBegun(7 - waiting);
      work.emit('end');
    }
    await untilRoom(LARGE, 0);
    await untilBegun(7);
    work.emit('end');
    for (const { status } of await Promise.all(answers)) expect(status).toBe(201);
    await untilRoom(0, 0);
  });

  it('do not make small ones wait', async () => {
    begin(bodyOf(LARGE));
    begin(bodyOf(LARGE));
    await untilRoom(2 * LARGE, 0);
    begin();
    await untilRoom(2 * LARGE, 1);
    expect((await workUntil(post(16 * 1024))).status).toBe(201);
  });

  it('are refused with 503 if there is no room for ten seconds, and can be sent again', async () => {
    begin(bodyOf(LARGE));
    begin(bodyOf(LARGE));
    await untilRoom(2 * LARGE, 0);
    await untilBegun(2);
    const refused = await post();
    expect(refused.status).toBe(503);
    expect(refused.body.error.code).toBe('UNAVAILABLE');
    expect(refused.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    work.emit('end');
    await untilRoom(0, 0);
    expect((await workUntil(post())).status).toBe(201);
  });

  it('count with all that they announce, before it has arrived', async () => {
    begin();
    await untilRoom(LARGE, 0);
    const half = begin(bodyOf(LARGE).slice(0, LARGE / 2));
    await untilRoom(2 * LARGE, 0);
    begin();
    await untilRoom(2 * LARGE, 1);
    half.destroy();
    await untilRoom(2 * LARGE, 0);
  });

  it('that arrive too slowly are answered with 408', async () => {
    const from = Date.now();
    const slow = begin();
    const dripping = setInterval(() => slow.write(' '), 100);
    const steady = begin('{"name": "a", "value": "b", "properties": {"a": "');
    const writing = setInterval(() => steady.write('x'.repeat(1_000)), 100);
    const [answer] = (await once(slow, 'data')) as [Buffer];
    expect(Date.now() - from).toBeLessThan(25_000);
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 408 Request Timeout\r\n[^]*"code":"REQUEST_TIMEOUT"/);
    clearInterval(dripping);
    clearInterval(writing);
    expect(steady.readyState).toBe('open');
    await once(slow.resume(), 'close');
  });

  it('of one client leave room for those of other clients', async () => {
    begin(bodyOf(LARGE));
    begin(bodyOf(LARGE));
    await untilRoom(2 * LARGE, 0);
    begin(bodyOf(40_000), 'Content-Length: 40000');
    await untilRoom(2 * LARGE, 1);
    begin(bodyOf(40_000), 'Content-Length: 40000', '127.0.0.2');
    await untilRoom(2 * LARGE + 40_000, 1);
    await untilBegun(3);
    work.emit('end');
    await untilRoom(40_000, 0);
  });

  it('of clients that leave release their room: before, while and after they are read', async () => {
    const connection = once(app.application.getHttpServer(), 'connection') as Promise<[Socket]>;
    const whole = begin(bodyOf(LARGE));
    const [atServer] = await connection;
    await untilBegun(1);
    const half = begin(bodyOf(LARGE).slice(0, LARGE / 2));
    await untilRoom(2 * LARGE, 0);
    const unread = begin();
    await untilRoom(2 * LARGE, 1);
    unread.destroy();
    await untilRoom(2 * LARGE, 0);
    half.destroy();
    await untilRoom(LARGE, 0);
    const gone = once(atServer, 'close');
    whole.destroy();
    await gone;
    // Its handler still runs, so it is still in memory.
    expect(await room()).toEqual({ held: LARGE, waiting: 0 });
    work.emit('end');
    await untilRoom(0, 0);
  });

  it('of unknown length count with the most that they may have, until they have arrived', async () => {
    const body = bodyOf(20_000);
    const client = begin(`${body.length.toString(16)}\r\n${body}\r\n`, 'Transfer-Encoding: chunked');
    await untilRoom(LARGE, 0);
    client.write('0\r\n\r\n');
    await untilBegun(1);
    expect(await room()).toEqual({ held: 20_000, waiting: 0 });
    work.emit('end');
    await untilRoom(0, 0);
  });

  it('are requested with 100 Continue only once there is room', async () => {
    begin(bodyOf(LARGE));
    begin(bodyOf(LARGE));
    await untilRoom(2 * LARGE, 0);
    const patient = begin('', `Content-Length: ${LARGE}\r\nExpect: 100-continue`);
    let received = '';
    patient.setEncoding('utf8').on('data', (text: string) => (received += text));
    await untilRoom(2 * LARGE, 1);
    expect(received).toBe('');
    await untilBegun(2);
    work.emit('end');
    await untilRoom(LARGE, 0);
    while (received === '') await sleep(10);
    expect(received).toBe('HTTP/1.1 100 Continue\r\n\r\n');
  });

  it('are received one after another if there is no room even for one', async () => {
    await app.close();
    app = await createTestApp({ modules: [WorkModule], environment: { BODY_TOTAL_LIMIT: '1' } });
    const answers = await workUntil(Promise.all([post(), post(), post()]));
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201]);
  });
});
