import { setTimeout as sleep } from 'node:timers/promises';
import { describeWithFaultyDisk, type DiskFault, type FaultyDisk } from './support/faulty-disk';
import { History } from './support/history';
import { Load } from './support/load';
import { randomFor } from './support/random';
import { ROUNDS } from './support/rounds';
import type { ServedDatabase } from './support/served-database';
import { serviceOnFaultyDisk } from './support/temporary-service';
import { until, untilHealthy, watch } from './support/watch';
import { falseHealth } from './support/ledger-faults';

const CLIENTS = 12;
/** More than the size at which SQLite folds the write-ahead log into the file. */
const LOG_SIZE = 6_000_000;
/** Number of calls of each kind among which one is chosen. The file is synced once whenever the log is folded in. */
const SPREAD = { 'write log': 400, 'sync log': 100, 'write data': 40, 'sync data': 2 };
/** EX_IOERR. */
const STORAGE_ERROR = 74;

describeWithFaultyDisk('A disk that fails', () => {
  let served: ServedDatabase;
  let disk: FaultyDisk;
  let history: History;
  let load: Load;

  async function startNew(label: string): Promise<void> {
    ({ served, disk } = await serviceOnFaultyDisk());
    history = new History();
    load = new Load(label, history);
    await served.start();
    await load.prepare(served.url);
  }

  /** Writes until the given number of further writes was acknowledged. */
  async function writeSome(count: number): Promise<void> {
    const stopped = new AbortController();
    const clients = load.run(served.url, CLIENTS, stopped.signal);
    const enough = history.acknowledged + count;
    await until(`${count} writes are acknowledged`, () => history.acknowledged >= enough);
    stopped.abort();
    await clients;
  }

  /** Each fault meets what the ones before have left. */
  describe('where its log is written', () => {
    beforeAll(() => startNew('log'));
    afterAll(() => served.remove());

    it.each<DiskFault>([
      { operation: 'sync', file: 'log', action: 'EIO' },
      { operation: 'sync', file: 'log', action: 'ENOSPC' },
      { operation: 'write', file: 'log', action: 'EIO' },
      { operation: 'write', file: 'log', action: 'EIO', count: 7 },
    ])('at $operation of the $file with $action: no write is acknowledged, and the process stops', async (fault) => {
      await writeSome(30);
      const clients = load.run(served.url, CLIENTS, new AbortController().signal);
      await sleep(100);
      disk.fail(fault);
      const ended = served.ended();
      expect(await ended).toBe(STORAGE_ERROR);
      await clients;
      disk.heal();
      await served.start();
      expect(await served.faults(history)).toEqual([]);
      await writeSome(30);
      expect(await served.faults(history)).toEqual([]);
    });

    it.each<DiskFault>([
      { operation: 'write', file: 'log', action: 'ENOSPC' },
      { operation: 'write', file: 'log', action: 'ENOSPC', count: 5 },
    ])('for want of room at each $operation of the $file: 503, reads go on, and it heals', async (fault) => {
      const stopped = new AbortController();
      const clients = [load.run(served.url, CLIENTS, stopped.signal), watch(served.url, history, stopped.signal)];
      await sleep(200);
      const from = performance.now();
      disk.fail(fault);
      await until('writes are refused', () => (history.statuses(from)[503] ?? 0) > 20);
      await sleep(1_200);
      const to = performance.now();
      disk.heal();
      expect(falseHealth(history, from, to)).toBe(0);
      await untilHealthy(served.url, history);
      stopped.abort();
      await Promise.all(clients);
      await writeSome(30);
      expect([...history.reads.keys()]).toEqual([200]);
      expect(await served.faults(history)).toEqual([]);
    });
  });

  describe('where its file is written', () => {
    beforeEach(() => startNew(expect.getState().currentTestName ?? ''));
    afterEach(() => served.remove());

    it.each<DiskFault>([
      { operation: 'sync', file: 'data', action: 'EIO' },
      { operation: 'write', file: 'data', action: 'EIO' },
      { operation: 'write', file: 'data', action: 'ENOSPC', count: 3 },
    ])(
      'at $operation of the $file with $action, while the log is folded in: nothing is lost',
      async (fault) => {
        disk.fail(fault);
        await load.fill(served.url, LOG_SIZE);
        await writeSome(30);
        expect(disk.failures()).toBeGreaterThan(0);
        expect(await served.faults(history)).toEqual([]);
        await served.stop('SIGKILL');
        disk.heal();
        await served.start();
        expect(await served.faults(history)).toEqual([]);
      },
      300_000,
    );

    it(
      'that takes the process down in the middle of a write to log or file: nothing is lost',
      async () => {
        const random = randomFor('killed at a write');
        for (let round = 1; round <= Math.ceil(ROUNDS / 4); round += 1) {
          const [operation, action] = random.pick([
            ['write', 'kill'],
            ['write', 'tear'],
            ['sync', 'kill'],
          ] as const);
          const file = random.pick(['log', 'data'] as const);
          const clients = load.run(served.url, CLIENTS, new AbortController().signal);
          disk.fail({ operation, file, action, count: random.below(SPREAD[`${operation} ${file}`]) });
          if (file === 'data') await load.fill(served.url, LOG_SIZE);
          expect(await served.ended()).toBe(null);
          await clients;
          disk.heal();
          await served.start();
          expect({ round, operation, file, action, faults: await served.faults(history) }).toMatchObject({
            faults: [],
          });
        }
      },
      Math.max(300_000, ROUNDS * 10_000),
    );
  });
});
