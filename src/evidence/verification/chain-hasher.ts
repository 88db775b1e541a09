import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ChainCheck, type ChainVerdict, type CheckOrder } from './chain-check';

const PROGRAM = join(__dirname, 'hashing-worker.js');

/**
 * Heap in megabytes. Entries are processed once and dropped, so a larger heap would only fill up before it is
 * collected.
 */
const YOUNG_GENERATION = 12;

/** Checks chunks of the chain, given in order, one at a time. */
interface ChainHasher {
  /** Checks the next entries, and returns the result so far. */
  readonly check: (entries: string) => Promise<ChainVerdict>;
  readonly close: () => Promise<unknown>;
}

/**
 * Opens a hasher in a separate thread, so that requests do not wait. A thread only runs JavaScript, so uncompiled
 * sources, as in tests, use the current one.
 */
export function openHasher(order: CheckOrder): ChainHasher {
  return existsSync(PROGRAM) ? inThread(order) : here(order);
}

function here(order: CheckOrder): ChainHasher {
  const check = new ChainCheck(order);
  return {
    check: async (entries) => {
      await nextTurn();
      return check.check(entries);
    },
    close: async () => undefined,
  };
}

function inThread(order: CheckOrder): ChainHasher {
  const resourceLimits = { maxYoungGenerationSizeMb: YOUNG_GENERATION };
  const worker = new Worker(PROGRAM, { workerData: order, env: {}, argv: [], execArgv: [], resourceLimits });
  const ended = once(worker, 'exit').then(() => {
    throw new Error('The thread that checks the chain has ended.');
  });
  ended.catch(() => undefined);
  return {
    check: async (entries) => {
      const response = once(worker, 'message');
      worker.postMessage(entries);
      const [verdict] = (await Promise.race([response, ended])) as [ChainVerdict];
      return verdict;
    },
    close: () => worker.terminate(),
  };
}
