import { setTimeout as sleep } from 'node:timers/promises';
import { History } from './support/history';
import { Load } from './support/load';
import type { ServedDatabase } from './support/served-database';
import { temporaryService } from './support/temporary-service';

const CLIENTS = 24;
/** Milliseconds: five times what is promised. */
const LONGEST_STOP = 5 * 10_000;

describe('SIGTERM under load on kept connections', () => {
  let served: ServedDatabase;

  beforeEach(async () => {
    served = await temporaryService();
  });
  afterEach(() => served.remove());

  it('answers what was received, refuses the rest, ends with 0 in time, and loses nothing that was acknowledged', async () => {
    const history = new History();
    const load = new Load('stop', history);
    await served.start();
    await load.prepare(served.url);
    for (let round = 1; round <= 3; round += 1) {
      const clients = load.run(served.url, CLIENTS, new AbortController().signal);
      await sleep(400);
      const began = performance.now();
      expect(await served.stop('SIGTERM')).toBe(0);
      expect(performance.now() - began).toBeLessThan(LONGEST_STOP);
      await clients;
      // Requests in progress when the signal came are answered; later ones are refused, or find nobody listening.
      const unanswered = history.attempts.filter((attempt) => attempt.answer === null);
      expect(unanswered.filter((attempt) => attempt.began < began && attempt.ended > began)).toEqual([]);
      await served.start();
      expect(await served.faults(history)).toEqual([]);
    }
  });
});
