import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { entriesFromJson } from '../../ledger/chain/entry-columns';
import { ChainCheck, type ChainVerdict, type CheckOrder, type ClaimedEnd } from './chain-check';
import type { HashingOrder } from './hashing-worker';

/** Checks chunks of the chain, given in order. */
export interface ChainHasher {
  /** Resolves when the chunk is checked. */
  add(entries: string): Promise<void>;
  finish(head: ClaimedEnd): Promise<ChainVerdict>;
  close(): Promise<void>;
}

/** Checks on the calling thread. */
class InlineHasher implements ChainHasher {
  private readonly check: ChainCheck;

  constructor(order: CheckOrder) {
    this.check = new ChainCheck(order);
  }

  async add(entries: string): Promise<void> {
    for (const entry of entriesFromJson(entries)) this.check.add(entry);
    await nextTurn();
  }

  async finish(head: ClaimedEnd): Promise<ChainVerdict> {
    return this.check.finish(head);
  }

  async close(): Promise<void> {
    // There is nothing to end.
  }
}

const PROGRAM = join(__dirname, 'hashing-worker.js');

/** Megabytes. Entries are processed once and dropped: a larger heap would only fill up before it is collected. */
const YOUNG_GENERATION = 12;

/**
 * In a separate thread; on the current one if the sources run uncompiled, as in tests, since a thread only runs
 * JavaScript.
 */
export function openHasher(order: CheckOrder): ChainHasher {
  return existsSync(PROGRAM) ? new WorkerHasher(order) : new InlineHasher(order);
}

/** Checks in a separate thread, so that requests do not wait for it. One order at a time. */
class WorkerHasher implements ChainHasher {
  private readonly worker: Worker;
  /** Rejects once the thread answers no further order. */
  private readonly ended: Promise<never>;

  constructor(order: CheckOrder) {
    const resourceLimits = { maxYoungGenerationSizeMb: YOUNG_GENERATION };
    this.worker = new Worker(PROGRAM, { workerData: order, env: {}, argv: [], execArgv: [], resourceLimits });
    this.ended = once(this.worker, 'exit').then(() => {
      throw new Error('The thread that checks the chain has ended.');
    });
    this.ended.catch(() => undefined);
  }

  async add(entries: string): Promise<void> {
    await this.order({ entries });
  }

  async finish(head: ClaimedEnd): Promise<ChainVerdict> {
    const verdict = await this.order({ head });
    if (verdict === null) throw new Error('The thread that checks the chain gave no verdict.');
    return verdict;
  }

  async close(): Promise<void> {
    await this.worker.terminate();
  }

  private async order(order: HashingOrder): Promise<ChainVerdict | null> {
    const answered = once(this.worker, 'message');
    this.worker.postMessage(order);
    const [answer] = (await Promise.race([answered, this.ended])) as [ChainVerdict | null];
    return answer;
  }
}
