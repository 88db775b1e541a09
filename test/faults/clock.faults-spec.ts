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
/** The changes of the clock must be visible in the ledger. */
const ANY_STEP = { MAX_CLOCK_STEP: String(1_000 * DAY) };

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
    await served.start(ANY_STEP);
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

    // Starts with a clock that is behind the ledger's.
    await served.stop('SIGTERM');
    disk.moveClock(-300 * DAY);
    await served.start(ANY_STEP);
    const random2 = randomFor('clock, later');
    for (let write = 0; write < 30; write += 1) await load.once(served.url, random2);
    expect(await served.faults(history)).toEqual([]);
    const [newest] = (await served.program.send('GET', '/api/v1/audit?limit=1')).body.data;
    expect(Date.parse(newest.timestamp)).toBeGreaterThan(Date.now() - 10 * DAY);
  });

  it('ends all writing when it jumps, and a start whose last entry lies ahead is refused', async () => {
    const post = async (): Promise<number> =>
      (await served.program.send('POST', '/api/v1/entities', { body: { type: 'service', name: 'x' } })).status;
    const program = await served.start();
    expect(await post()).toBe(201);
    disk.moveClock(25 * 3_600_000);
    expect(await post()).toBe(503);
    expect((await program.send('GET', '/api/v1/health/ready')).status).toBe(503);
    expect((await program.send('GET', '/api/v1/health/live')).status).toBe(200);
    expect(program.printed()).toContain('THE CLOCK OF THIS MACHINE WENT AHEAD BY 90000 SECONDS SINCE THE START');
    expect(await served.stop('SIGTERM')).toBe(0);

    await served.start();
    expect(await post()).toBe(201);
    await served.stop('SIGTERM');
    disk.moveClock(0);
    const refused = await served.startOrEnd();
    expect([refused?.exitCode, refused?.printed]).toEqual([65, expect.stringContaining('ACCEPT_HEAD_TIME=')]);
  });
});
