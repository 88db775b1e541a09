import { Controller, Get, Module } from '@nestjs/common';
import { EventEmitter, once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { API_KEY } from '../../support/application/api-key';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';

const CLIENT = '127.0.0.1';
const ANOTHER = '127.0.0.2';
const ASK = `GET /api/v1/health HTTP/1.1\r\nHost: x\r\n\r\n`;

/** Requests whose handlers run until `end`. */
const work = new EventEmitter().setMaxListeners(0);

@Controller('work')
class WorkController {
  @Get()
  async work(): Promise<object> {
    await once(work, 'end');
    return {};
  }
}

@Module({ controllers: [WorkController] })
class WorkModule {}

describe('Connections', () => {
  let app: TestApp;
  const clients: Socket[] = [];

  afterEach(async () => {
    work.emit('end');
    clients.splice(0).forEach((client) => client.destroy());
    await app.close();
  });

  function start(environment: Readonly<Record<string, string>>): Promise<TestApp> {
    return createTestApp({ environment, modules: [WorkModule] });
  }

  async function from(localAddress: string): Promise<Socket> {
    const { hostname, port } = new URL(app.url);
    const client = connect({ port: Number(port), host: hostname, localAddress }).on('error', () => undefined);
    clients.push(client);
    await once(client, 'connect');
    return client;
  }

  /** Sends a text and returns the answer, which is empty if the connection is closed instead. */
  function exchange(client: Socket, text = ASK): Promise<string> {
    client.write(text);
    return new Promise((resolve) => {
      client.once('data', (answer: Buffer) => resolve(answer.toString()));
      client.once('close', () => resolve(''));
    });
  }

  async function isServed(localAddress: string): Promise<boolean> {
    return (await exchange(await from(localAddress))).startsWith('HTTP/1.1 200');
  }

  /** Connections that were answered once and stay open. */
  async function hold(count: number, localAddress = CLIENT): Promise<Socket[]> {
    const held: Socket[] = [];
    for (let number = 0; number < count; number += 1) {
      const client = await from(localAddress);
      expect(await exchange(client)).toMatch(/^HTTP\/1\.1 200/);
      held.push(client);
    }
    return held;
  }

  /** Connections that wait for an answer. */
  async function occupy(count: number, localAddress: string): Promise<void> {
    for (let number = 0; number < count; number += 1) {
      const client = await from(localAddress);
      client.write(`GET /api/v1/work HTTP/1.1\r\nHost: x\r\nX-API-Key: ${API_KEY}\r\n\r\n`);
      while (work.listenerCount('end') <= number) await sleep(5);
    }
  }

  function open(): Promise<number> {
    return new Promise((resolve, reject) => {
      app.application
        .getHttpServer()
        .getConnections((error: Error | null, count: number) => (error ? reject(error) : resolve(count)));
    });
  }

  it.each([
    ['as many as a setting says', { MAX_CONNECTIONS_PER_ADDRESS: '4' }, 4],
    ['a fifth of all', { MAX_CONNECTIONS: '20' }, 4],
    ['two at least', { MAX_CONNECTIONS: '4' }, 2],
  ])('of one address are %s, and others get through', async (_what, environment, most) => {
    app = await start(environment);
    const held = await hold(most);
    expect(await isServed(CLIENT)).toBe(false);
    expect(await isServed(ANOTHER)).toBe(true);
    for (const client of held.slice(0, -1)) expect(await exchange(client)).toMatch(/^HTTP\/1\.1 200/);
    held[0]?.destroy();
    while ((await open()) > most) await sleep(5);
    expect(await isServed(CLIENT)).toBe(true);
  });

  it.each(['127.0.0.1', '10.0.0.0/8,127.0.0.1/32', '1'])(
    'are not counted for the proxies of TRUST_PROXY=%s',
    async (proxies) => {
      app = await start({ MAX_CONNECTIONS_PER_ADDRESS: '2', TRUST_PROXY: proxies });
      await hold(10);
      const served = await Promise.all([1, 2, 3].map(() => isServed(ANOTHER)));
      expect(served.filter(Boolean)).toHaveLength(proxies === '1' ? 3 : 2);
    },
  );

  it('are closed after an answer if their number is near the limit, of one address or in total', async () => {
    app = await start({ MAX_CONNECTIONS: '20', MAX_CONNECTIONS_PER_ADDRESS: '10' });
    await hold(8);
    const near = await from(CLIENT);
    expect(await exchange(near)).toMatch(/\r\nConnection: close\r\n/);
    await once(near, 'close');
    await hold(8, ANOTHER);
    const third = await from('127.0.0.3');
    expect(await exchange(third)).toMatch(/\r\nConnection: close\r\n/);
  });

  it('that are idle make room for others, the oldest of the address that has most first', async () => {
    app = await start({ MAX_CONNECTIONS: '6', MAX_CONNECTIONS_PER_ADDRESS: '4' });
    await occupy(1, CLIENT);
    const [oldest] = await Promise.all([from(CLIENT), from(CLIENT)]);
    const others = await Promise.all([from(ANOTHER), from(ANOTHER)]);
    const gone = once(oldest, 'close');
    await from(CLIENT);
    while ((await open()) < 6) await sleep(5);
    expect(await isServed('127.0.0.3')).toBe(true);
    await gone;
    for (const client of others) expect(await exchange(client)).toMatch(/^HTTP\/1\.1 200/);
    expect(work.listenerCount('end')).toBe(1);
  });

  it('beyond the limit are closed if every other one waits for an answer', async () => {
    app = await start({ MAX_CONNECTIONS: '3', MAX_CONNECTIONS_PER_ADDRESS: '3' });
    await occupy(3, CLIENT);
    expect(await isServed(ANOTHER)).toBe(false);
    work.emit('end');
    while (!(await isServed(ANOTHER))) await sleep(5);
  });
});
