import { setTimeout as sleep } from 'node:timers/promises';
import { History } from './support/history';
import { Load } from './support/load';
import { randomFor } from './support/random';
import { ROUNDS } from './support/rounds';
import type { ServedDatabase } from './support/served-database';
import { temporaryService } from './support/temporary-service';

/** Rounds per database: each check reads all of it. */
const ROUNDS_OF_A_DATABASE = 20;
const CLIENTS = 12;
/** Milliseconds of load before a kill, at most. */
const MAX_LOAD_MS = 700;
const MAX_ROUND_MS = 30_000;

describe('kill -9 at random moments', () => {
  let served: ServedDatabase;

  beforeEach(async () => {
    served = await temporaryService();
  });
  afterEach(() => served.remove());

  const batches = Array.from({ length: Math.ceil(ROUNDS / ROUNDS_OF_A_DATABASE) }, (_unused, index) => ({
    batch: index + 1,
    rounds: Math.min(ROUNDS_OF_A_DATABASE, ROUNDS - index * ROUNDS_OF_A_DATABASE),
  }));

  it.each(batches)(
    'under load loses nothing, doubles nothing and breaks no link: database $batch, $rounds rounds',
    async ({ batch, rounds }) => {
      const random = randomFor(`kill ${batch}`);
      const history = new History();
      const load = new Load(`kill ${batch}`, history);
      await served.start();
      await load.prepare(served.url);
      for (let round = 1; round <= rounds; round += 1) {
        const clients = load.run(served.url, CLIENTS, new AbortController().signal);
        await sleep(random.below(MAX_LOAD_MS));
        await history.keepCheckpoint(served.url);
        await served.stop('SIGKILL');
        await clients;
        await served.start();
        expect({ round, faults: await served.faults(history) }).toEqual({ round, faults: [] });
      }
      expect(history.checkpoint).not.toBe(null);
      expect(history.attempts.filter(({ key, answer }) => key !== undefined && answer === null)).not.toEqual([]);
      expect(history.acknowledged).toBeGreaterThan(rounds);
    },
    ROUNDS_OF_A_DATABASE * MAX_ROUND_MS,
  );
});
