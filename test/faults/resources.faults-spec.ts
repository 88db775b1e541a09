import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { History } from './support/history';
import { Load } from './support/load';
import type { ServedDatabase } from './support/served-database';
import { temporaryService } from './support/temporary-service';
import { until, watch } from './support/watch';

/** The number of connections that all clients together may hold. */
const IDLE_SOCKETS = 5_000;
const THEIR_ADDRESS = '127.0.0.2';
const SLOW_SOCKETS = 200;
/** Bytes of a slow request; one goes out at each step. */
const SLOW_STEP = 200;
const MEBIBYTE = 1_048_576;

describe('The service', () => {
  let served: ServedDatabase;
  let history: History;
  let load: Load;

  beforeEach(async () => {
    served = await temporaryService();
    history = new History();
    load = new Load(expect.getState().currentTestName ?? '', history);
  });
  afterEach(() => served.remove());

  describe('with clients that hold connections', () => {
    const sockets = new Set<Socket>();

    afterEach(() => {
      sockets.forEach((socket) => socket.destroy());
      sockets.clear();
    });

    async function open(count: number): Promise<Socket[]> {
      const { port } = new URL(served.url);
      const opened = Array.from({ length: count }, () => {
        const socket = connect({ port: Number(port), host: '127.0.0.1', localAddress: THEIR_ADDRESS });
        sockets.add(socket);
        socket.on('error', () => socket.destroy());
        socket.on('close', () => sockets.delete(socket));
        return socket;
      });
      await Promise.allSettled(opened.map((socket) => once(socket, 'connect')));
      return opened;
    }

    async function expectToServeOthers(): Promise<void> {
      const before = history.acknowledged;
      const stopped = new AbortController();
      const clients = [load.run(served.url, 6, stopped.signal), watch(served.url, history, stopped.signal)];
      await until('writes are acknowledged', () => history.acknowledged > before + 60);
      stopped.abort();
      await Promise.all(clients);
    }

    it.each([
      ['say nothing', ''],
      ['were answered', 'GET /docs HTTP/1.1\r\nHost: x\r\n\r\n'],
    ])('that %s goes on answering the others', async (_what, text) => {
      await served.start();
      await load.prepare(served.url);
      (await open(IDLE_SOCKETS)).forEach((socket) => socket.writable && socket.resume().write(text));
      await expectToServeOthers();
      expect(history.statuses()).not.toHaveProperty('0');
      expect([...history.reads.keys()]).toEqual([200]);
      expect(new Set(history.sightings.map(({ status }) => status))).toEqual(new Set([200]));
      expect(await served.faults(history)).toEqual([]);
      expect(await served.stop('SIGTERM')).toBe(0);
    });

    it('that send byte by byte continues to answer the others', async () => {
      await served.start();
      await load.prepare(served.url);
      const head = 'GET /api/v1/stats HTTP/1.1\r\nHost: x\r\nX-Slow: ';
      const body =
        'POST /api/v1/entities HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{';
      const slow = await open(SLOW_SOCKETS);
      slow.forEach((socket, index) => socket.write(index % 2 === 0 ? head : body));
      const dripping = setInterval(() => slow.forEach((socket) => socket.writable && socket.write('x')), SLOW_STEP);
      try {
        await expectToServeOthers();
        expect(history.statuses()).not.toHaveProperty('0');
      } finally {
        clearInterval(dripping);
      }
      expect(await served.faults(history)).toEqual([]);
    });
  });

  it('short of memory answers or refuses, and what it acknowledged is stored, even if it ends', async () => {
    await served.start({ NODE_OPTIONS: '--max-old-space-size=72' });
    await load.prepare(served.url);
    const stopped = new AbortController();
    const clients = load.run(served.url, 8, stopped.signal);
    const text = 'y'.repeat(MEBIBYTE - 200);
    const large = async (): Promise<void> => {
      for (let sent = 0; sent < 3; sent += 1) {
        const body = { type: 'large', name: 'large', properties: { text } };
        const answer = await history.write(served.url, {
          operation: 'createEntity',
          method: 'POST',
          path: 'entities',
          body,
        });
        if (answer === null) return;
      }
    };
    await Promise.all(Array.from({ length: 40 }, large));
    await sleep(200);
    stopped.abort();
    await clients;
    const statuses = Object.keys(history.statuses());
    expect(statuses.filter((status) => status === '500')).toEqual([]);
    await served.stop('SIGKILL');
    await served.start();
    expect(await served.faults(history)).toEqual([]);
  });
});
