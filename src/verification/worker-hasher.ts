import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { ChainEnd, ChainVerdict, CheckOrder } from './chain-check';
import { type ChainHasher, InlineHasher } from './chain-hasher';
import type { HashingOrder } from './hashing-worker';

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
