import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { AGENT } from '../agents/agent.entity';
import { Configuration } from '../../core/config/configuration';
import { RecordReader } from '../../ledger/reading/record-reader';
import { Turn } from '../../core/concurrency/turn';
import { subjectOf } from '../policies/patterns/subjects';
import { Comparison, type ComparedPolicies, type ComparisonPart } from './effects/comparison';
import type { PlannedPolicy } from './effects/effect';

const PROGRAM = join(__dirname, 'effects', 'plan-worker.js');
/** Policies sent to the thread at once. */
const CHUNK = 100;
/** Milliseconds beyond its time limit after which a thread counts as stuck. */
const GRACE = 1_000;
/** Most memory for the thread, in megabytes. */
const MEMORY = { maxOldGenerationSizeMb: 192, maxYoungGenerationSizeMb: 16 };

/** Computes what changes between two sets of policies, in a separate thread. To be called for one plan at a time. */
@Injectable()
export class PolicyComparisons implements OnApplicationShutdown {
  private worker: Worker | null = null;

  constructor(
    private readonly records: RecordReader,
    private readonly configuration: Configuration,
  ) {}

  /** @param leaving aborted when nobody waits for the answer any more; its reason is thrown. */
  async compare(policies: readonly PlannedPolicy[], leaving: AbortSignal): Promise<ComparedPolicies> {
    leaving.throwIfAborted();
    const parts = this.partsOf(policies);
    // A thread only runs JavaScript; the sources may be uncompiled, as in tests.
    return existsSync(PROGRAM) ? this.inThread(parts, leaving) : inline(parts);
  }

  async onApplicationShutdown(): Promise<void> {
    await this.worker?.terminate();
  }

  private async *partsOf(policies: readonly PlannedPolicy[]): AsyncGenerator<ComparisonPart> {
    for (let start = 0; start < policies.length; start += CHUNK)
      yield { policies: policies.slice(start, start + CHUNK) };
    for await (const agents of this.records.chunks(AGENT, [], CHUNK)) yield { agents: agents.map(subjectOf) };
    yield { timeout: this.configuration.planTimeout };
  }

  private async inThread(parts: AsyncIterable<ComparisonPart>, leaving: AbortSignal): Promise<ComparedPolicies> {
    const worker = new Worker(PROGRAM, { env: {}, argv: [], execArgv: [], resourceLimits: MEMORY });
    this.worker = worker;
    try {
      const answer = answerOf(worker, this.configuration.planTimeout, leaving);
      const [found] = await Promise.all([answer, send(parts, worker, leaving)]);
      return found;
    } finally {
      this.worker = null;
      await worker.terminate();
    }
  }
}

async function send(parts: AsyncIterable<ComparisonPart>, worker: Worker, leaving: AbortSignal): Promise<void> {
  const turn = new Turn();
  for await (const part of parts) {
    leaving.throwIfAborted();
    worker.postMessage(part);
    if (turn.isOver) await turn.next();
  }
}

async function inline(parts: AsyncIterable<ComparisonPart>): Promise<ComparedPolicies> {
  const comparison = new Comparison();
  for await (const part of parts) {
    const answer = comparison.take(part);
    if (answer !== null) return answer;
  }
  throw new Error('The comparison was not asked for its answer.');
}

/** An empty result with the reason, if the thread does not finish on its own. */
function answerOf(worker: Worker, timeout: number, leaving: AbortSignal): Promise<ComparedPolicies> {
  return new Promise((resolve, reject) => {
    const none = (reason: string): void => resolve({ effects: [], reason, shadowed: [] });
    const late = setTimeout(
      () => none(`The plan took longer than PLAN_TIMEOUT allows (${timeout} ms).`),
      2 * timeout + GRACE,
    ).unref();
    leaving.addEventListener('abort', () => reject(leaving.reason as Error), { once: true });
    worker.on('message', resolve);
    worker.on('error', (error: Error & { readonly code?: string }) => {
      if (error.code === 'ERR_WORKER_OUT_OF_MEMORY') none('The plan needed too much memory.');
      else reject(error);
    });
    worker.on('exit', () => {
      clearTimeout(late);
      reject(new Error('The thread that compares policies has ended.'));
    });
  });
}
