import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { entriesFromJson } from '../../ledger/chain/entry-columns';
import { ChainCheck, type ChainEnd, type ChainVerdict, type CheckOrder } from './chain-check';
import type { HashingOrder } from './hashing-worker';

/** Checks chunks of the chain, given in order. */
export interface ChainHasher {
  /** Resolves when the chunk is checked. */
  add(entries: string): Promise<void>;
  /** @param head where the chain ends according to the head record. */
  finish(head: ChainEnd): Promise<ChainVerdict>;
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

  async finish(head: ChainEnd): Promise<ChainVerdict> {
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

interface Waiting {
  readonly resolve: (answer: ChainVerdict | null) => void;
  readonly reject: (error: Error) => void;
}

/** Checks in a separate thread, so that requests do not wait for it. */
class WorkerHasher implements ChainHasher {
  private readonly worker: Worker;
  private readonly waiting: Waiting[] = [];
  /** Why the thread answers no further order. */
  private failure: Error | null = null;

  constructor(order: CheckOrder) {
    const resourceLimits = { maxYoungGenerationSizeMb: YOUNG_GENERATION };
    this.worker = new Worker(PROGRAM, { workerData: order, env: {}, argv: [], execArgv: [], resourceLimits });
    this.worker.on('message', (answer: ChainVerdict | null) => this.waiting.shift()?.resolve(answer));
    this.worker.on('error', (error) => this.fail(error));
    this.worker.on('exit', () => this.fail(new Error('The thread that checks the chain has ended.')));
  }

  async add(entries: string): Promise<void> {
    await this.order({ entries });
  }

  async finish(head: ChainEnd): Promise<ChainVerdict> {
    const verdict = await this.order({ head });
    if (verdict === null) throw new Error('The thread that checks the chain gave no verdict.');
    return verdict;
  }

  async close(): Promise<void> {
    await this.worker.terminate();
  }

  private order(order: HashingOrder): Promise<ChainVerdict | null> {
    return new Promise((resolve, reject) => {
      if (this.failure !== null) throw this.failure;
      this.waiting.push({ resolve, reject });
      this.worker.postMessage(order);
    });
  }

  private fail(error: Error): void {
    this.failure ??= error;
    for (const { reject } of this.waiting.splice(0)) reject(error);
  }
}
