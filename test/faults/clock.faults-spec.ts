import { setTimeout as sleep } from 'node:timers/promises';
import { describeWithFaultyDisk, type FaultyDisk } from './support/faulty-disk';
import { History } from './support/history';
import { Load } from './support/load';
import { randomFor } from './support/random';
import type { ServedDatabase } from './support/served-database';
import { serviceOnFaultyDisk } from './support/temporary-service';

const DAY = 86_400_000;
const CLIENTS = 6;
const MOVES = 12;

describeWithFaultyDisk('A clock that goes back and forth', () => {
  let disk: FaultyDisk;
  let served: ServedDatabase;

  beforeEach(async () => {
    ({ served, disk } = await serviceOnFaultyDisk());
  });
  afterEach(() => served.remove());

  it('moves neither the time of the ledger back nor the order of identifiers', async () => {
    const random = randomFor('clock');
    const history = new History(false);
    const load = new Load('clock', history);
    await served.start();
    await load.prepare(served.url);
    const stopped = new AbortController();
    const clients = load.run(served.url, CLIENTS, stopped.signal);
    for (let move = 0; move < MOVES; move += 1) {
      disk.moveClock(random.pick([1, -1]) * random.below(2 * DAY));
      await sleep(100);
    }
    stopped.abort();
    await clients;
    expect(history.statuses()).not.toHaveProperty('500');
    expect(await served.faults(history)).toEqual([]);

    // A start with a clock that is behind the ledger's.
    await served.stop('SIGTERM');
    disk.moveClock(-300 * DAY);
    await served.start();
    const random2 = randomFor('clock, later');
    for (let write = 0; write < 30; write += 1) await load.once(served.url, random2);
    expect(await served.faults(history)).toEqual([]);
    const [newest] = (await served.program.send('GET', '/api/v1/audit?limit=1')).body.data;
    expect(Date.parse(newest.timestamp)).toBeGreaterThan(Date.now() - 10 * DAY);
  });
});
