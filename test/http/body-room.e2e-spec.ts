import { Body, Controller, Module, Post } from '@nestjs/common';
import { EventEmitter, once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { API_KEY, createTestApp, type TestApp } from '../support/create-test-app';
import { SampleRequest } from '../support/sample.module';
import { type Answer, send } from '../support/send';

const PATH = '/api/v1/work';
/** Bytes: the room has two of these bodies, not three. */
const LARGE = 60_000;
const ROOM = 150_000;

/** Emits `begun` when a request is being worked on, which lasts until `end`. */
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

  beforeEach(async () => {
    app = await createTestApp({ modules: [WorkModule], environment: { BODY_TOTAL_LIMIT: String(ROOM) } });
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

  /** Says that it sends a large body, and sends what it is given of it. */
  function begin(part = '{', headers = `Content-Length: ${LARGE}`): Socket {
    const { hostname, port } = new URL(app.url);
    const client = connect(Number(port), hostname).on('error', () => undefined);
    clients.push(client);
    client.write(`POST ${PATH} HTTP/1.1\r\nHost: x\r\nX-API-Key: ${API_KEY}\r\nContent-Type: application/json\r\n`);
    client.write(`${headers}\r\n\r\n${part}`);
    return client;
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

  it('wait for one another where they do not all have room, and each is answered', async () => {
    let begun = 0;
    const count = (): number => (begun += 1);
    work.on('begun', count);
    const answers = Array.from({ length: 7 }, () => post());
    for (const waiting of [5, 3, 1]) {
      await untilRoom(2 * LARGE, waiting);
      while (begun < 7 - waiting) await sleep(10);
      work.emit('end');
    }
    await untilRoom(LARGE, 0);
    while (begun < 7) await sleep(10);
    work.emit('end');
    for (const { status } of await Promise.all(answers)) expect(status).toBe(201);
    await untilRoom(0, 0);
    work.off('begun', count);
  });

  it('do not keep small ones waiting', async () => {
    begin();
    begin();
    begin();
    await untilRoom(2 * LARGE, 1);
    const begun = once(work, 'begun');
    const answer = post(16 * 1024);
    await begun;
    work.emit('end');
    expect((await answer).status).toBe(201);
  });

  it('are refused with 503 where they find no room for ten seconds, and can be sent again', async () => {
    const slow = [begin(), begin()];
    await untilRoom(2 * LARGE, 0);
    const refused = await post();
    expect(refused.status).toBe(503);
    expect(refused.body.error.code).toBe('UNAVAILABLE');
    expect(refused.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    slow.forEach((client) => client.destroy());
    await untilRoom(0, 0);
    const begun = once(work, 'begun');
    const again = post();
    await begun;
    work.emit('end');
    expect((await again).status).toBe(201);
  });

  it('that come too slowly lose their room when their time is over', async () => {
    Object.assign(app.application.getHttpServer(), { headersTimeout: 1_000, requestTimeout: 1_000 });
    begin();
    begin();
    await untilRoom(2 * LARGE, 0);
    const begun = once(work, 'begun');
    const answer = post();
    await begun;
    work.emit('end');
    expect((await answer).status).toBe(201);
  });

  it('of clients that leave give up their place, before they are read, while they are and after it', async () => {
    const begun = once(work, 'begun');
    const connection = once(app.application.getHttpServer(), 'connection') as Promise<[Socket]>;
    const whole = begin(bodyOf(LARGE));
    const [atServer] = await connection;
    await begun;
    const half = begin();
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
    // It is still worked on, so it is still in memory.
    expect(await room()).toEqual({ held: LARGE, waiting: 0 });
    work.emit('end');
    await untilRoom(0, 0);
  });

  it('of unknown length count as the largest until they are there', async () => {
    await app.close();
    app = await createTestApp({
      modules: [WorkModule],
      environment: { BODY_TOTAL_LIMIT: String(ROOM), BODY_LIMIT: String(ROOM) },
    });
    const chunk = `${LARGE.toString(16)}\r\n${bodyOf(LARGE)}\r\n`;
    const client = begin(chunk, 'Transfer-Encoding: chunked');
    await untilRoom(ROOM, 0);
    const begun = once(work, 'begun');
    client.write('0\r\n\r\n');
    await begun;
    await untilRoom(LARGE, 0);
    work.emit('end');
    await untilRoom(0, 0);
  });

  it('are asked for with 100 Continue only when there is room', async () => {
    const held = [begin(), begin()];
    await untilRoom(2 * LARGE, 0);
    const patient = begin('', `Content-Length: ${LARGE}\r\nExpect: 100-continue`);
    let told = '';
    patient.setEncoding('utf8').on('data', (text: string) => (told += text));
    await untilRoom(2 * LARGE, 1);
    expect(told).toBe('');
    held.forEach((client) => client.destroy());
    await untilRoom(LARGE, 0);
    while (told === '') await sleep(10);
    expect(told).toBe('HTTP/1.1 100 Continue\r\n\r\n');
  });

  it('have the room for themselves where they are larger than it', async () => {
    await app.close();
    app = await createTestApp({ modules: [WorkModule], environment: { BODY_TOTAL_LIMIT: '1' } });
    const ending = setInterval(() => work.emit('end'), 10);
    const answers = await Promise.all([post(), post(), post()]);
    clearInterval(ending);
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201]);
  });
});
