import { Logger } from '@nestjs/common';
import { Redis } from 'ioredis';
import { randomInt } from 'node:crypto';
import { createServer, type AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { countedClient } from '../../../src/core/values/ip-address';
import { API_KEY } from '../../support/application/api-key';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { SampleModule } from '../../http/sample.module';
import { send, sendRaw, type Answer } from '../../support/application/send';
import { openTcpGate, type TcpGate } from '../../support/application/tcp-gate';
import { describeWhereReachable, REDIS_SERVER } from '../../support/processes/where-reachable';

const LIMIT = 20;
const WINDOW = 4_000;
/** Milliseconds for which a request waits for Redis. */
const ANSWER_TIMEOUT = 250;

describeWhereReachable([REDIS_SERVER], 'The rate limit in Redis', () => {
  let gate: TcpGate;
  let apps: TestApp[];
  let client: string;

  beforeEach(async () => {
    gate = await openTcpGate(REDIS_SERVER.host, REDIS_SERVER.port);
    apps = [];
    client = newClient();
  });
  afterEach(async () => {
    await Promise.all(apps.map((app) => app.close()));
    await gate.close();
    jest.restoreAllMocks();
  });

  async function start(count: number, environment: Record<string, string> = {}): Promise<void> {
    for (let index = 0; index < count; index += 1) {
      const app = await createTestApp({
        modules: [SampleModule],
        environment: {
          RATE_LIMIT: String(LIMIT),
          RATE_WINDOW: String(WINDOW),
          REDIS_URL: `redis://127.0.0.1:${gate.port}`,
          TRUST_PROXY: '1',
          LOG_LEVEL: 'warn',
          ...environment,
        },
      });
      apps.push(app);
    }
  }

  function app(index: number): TestApp {
    const instance = apps[index % apps.length];
    if (instance === undefined) throw new Error('No application was started.');
    return instance;
  }

  function request(index: number, path = '/api/v1/samples', key: string | null = API_KEY): Promise<Answer> {
    return send(app(index), 'GET', path, { key, headers: { 'X-Forwarded-For': client } });
  }

  function remainingOf({ headers }: Answer): number {
    return Number(headers.get('x-ratelimit-remaining'));
  }

  /** Sends a few requests at a time, and counts the answers by status. */
  async function statuses(count: number): Promise<Record<number, number>> {
    const counts: Record<number, number> = {};
    for (let sent = 0; sent < count; sent += 4) {
      const size = Math.min(4, count - sent);
      const answers = await Promise.all(Array.from({ length: size }, (_, index) => request(index)));
      for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
    }
    return counts;
  }

  it('is a single one over all processes, also in its headers', async () => {
    await start(2, { RATE_WINDOW: '60000' });
    const first = await request(0);
    const second = await request(1);
    expect([remainingOf(first), remainingOf(second)]).toEqual([LIMIT - 1, LIMIT - 2]);
    const resets = [first, second].map(({ headers }) => Number(headers.get('x-ratelimit-reset')));
    expect(Math.abs((resets[0] ?? 0) - (resets[1] ?? 0))).toBeLessThanOrEqual(1);
    expect(resets[0]).toBeLessThanOrEqual((Date.now() + 60_000) / 1000 + 1);
    expect(await statuses(40)).toEqual({ 200: LIMIT - 2, 429: 40 - (LIMIT - 2) });
    const refused = await request(1);
    expect(refused.body.error.code).toBe('RATE_LIMITED');
    expect(refused.headers.get('x-ratelimit-remaining')).toBe('0');
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  });

  it('is a single one for a key over all processes with RATE_LIMIT_PER_KEY, from any address', async () => {
    await start(2, { RATE_WINDOW: '60000', RATE_LIMIT_PER_KEY: '1000000000' });
    const first = remainingOf(await request(0));
    client = newClient();
    expect(remainingOf(await request(1))).toBe(first - 1);
  });

  it('admits the client again in the next window', async () => {
    await start(2);
    await statuses(LIMIT + 1);
    expect((await request(0)).status).toBe(429);
    await sleep(WINDOW + 50);
    expect(remainingOf(await request(1))).toBe(LIMIT - 1);
  });

  it('refuses no client for longer than a window if the clock of Redis is set back', async () => {
    await start(1);
    const redis = new Redis(REDIS_SERVER.port, REDIS_SERVER.host);
    await redis.set(`governance:rate:${WINDOW}:shared-with-key:${countedClient(client)}`, LIMIT, 'PX', 86_400_000);
    redis.disconnect();
    expect(remainingOf(await request(0))).toBe(LIMIT - 1);
    await sleep(WINDOW + 50);
    expect(remainingOf(await request(0))).toBe(LIMIT - 1);
  });

  it('counts requests that Node refuses', async () => {
    await start(2, { TRUST_PROXY: '0', RATE_LIMIT: '1000000', RATE_WINDOW: '2147483647' });
    const remaining = async (): Promise<number> => remainingOf(await send(app(1), 'GET', '/nothing', { key: null }));
    const before = await remaining();
    const answer = await sendRaw(app(0), 'NONSENSE\r\n\r\n');
    expect(answer).toMatch(/^HTTP\/1\.1 400 [^]*X-RateLimit-Remaining: \d+\r\n/);
    expect(await remaining()).toBe(before - 2);
  });

  it('counts requests with and without a key separately, and files of the documentation not at all', async () => {
    await start(2, { RATE_WINDOW: '60000' });
    const standings = [];
    for (const index of [0, 1]) {
      standings.push(await request(index, '/docs', null));
      standings.push(await request(index, '/nothing', null));
      standings.push(await request(index));
    }
    const remaining = standings.map((answer) => LIMIT - remainingOf(answer));
    expect(remaining).toEqual([0, 1, 1, 1, 2, 2]);
  });

  it.each<['cut' | 'hold']>([['cut'], ['hold']])(
    'applies per process while Redis is gone (%s), and to all again when it is back',
    async (fault) => {
      const warn = jest.spyOn(Logger.prototype, 'warn');
      await start(2, { RATE_WINDOW: '60000' });
      await statuses(4);
      gate[fault]();
      const begun = performance.now();
      expect(await statuses(60)).toEqual({ 200: 2 * (LIMIT - 2), 429: 60 - 2 * (LIMIT - 2) });
      // Fifteen times four at once: far less than if each waited for an answer.
      expect(performance.now() - begun).toBeLessThan(15 * ANSWER_TIMEOUT);
      const lines = warn.mock.calls.filter(([line]) => String(line).startsWith('Redis does not answer'));
      expect(lines).toHaveLength(2);
      gate.open();
      await untilShared();
    },
  );

  it('applies to all again when another Redis has taken over, and the one of before only lets read', async () => {
    const replaced = createServer((socket) => {
      socket.on('error', () => socket.destroy());
      socket.on('data', (chunk) => {
        for (const [, command] of String(chunk).matchAll(/^\*\d+\r\n\$\d+\r\n(\w+)/gm))
          socket.write(
            command === 'eval' ? "-READONLY You can't write against a read only replica.\r\n" : '$0\r\n\r\n',
          );
      });
    });
    await new Promise<void>((resolve) => replaced.listen(0, REDIS_SERVER.host, resolve));
    gate.aim((replaced.address() as AddressInfo).port);
    await start(2, { RATE_WINDOW: '60000' });
    expect(await statuses(2 * LIMIT)).toEqual({ 200: 2 * LIMIT });
    gate.aim(REDIS_SERVER.port);
    await untilShared();
    await new Promise((resolve) => replaced.close(resolve));
  });

  it('does not prevent a start without Redis', async () => {
    gate.cut();
    const warn = jest.spyOn(Logger.prototype, 'warn');
    await start(2, { RATE_WINDOW: '60000' });
    expect(warn.mock.calls.filter(([line]) => String(line).startsWith('Redis does not answer'))).toHaveLength(2);
    expect(remainingOf(await request(0))).toBe(LIMIT - 1);
    expect(await statuses(2 * LIMIT)).toEqual({ 200: 2 * LIMIT - 1, 429: 1 });
    gate.open();
    await untilShared();
  });

  /** Waits until a client that is new to all processes has one limit over all of them. */
  async function untilShared(): Promise<void> {
    let counted: Record<number, number> = {};
    for (const deadline = Date.now() + 60_000; counted[200] !== LIMIT && Date.now() < deadline;) {
      await sleep(200);
      client = newClient();
      counted = await statuses(LIMIT + 2);
    }
    expect(counted).toEqual({ 200: LIMIT, 429: 2 });
  }
});

/** An address that no other client uses, not even another run of these tests. */
function newClient(): string {
  const part = (): string => randomInt(65_536).toString(16);
  return `2001:db8:${part()}:${part()}::1`;
}
