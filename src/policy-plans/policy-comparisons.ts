import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { AGENT } from '../agents/agent.kind';
import { Configuration } from '../config/configuration';
import { jsonForAnswer } from '../json/stored-json';
import { RecordReader } from '../ledger/reading/record-reader';
import { Slices } from '../shared/slices';
import { subjectOf } from '../policies/subject-of';
import { Comparison, type ComparedPolicies, type ComparisonPart } from './effects/comparison';
import type { Effect, PlannedPolicy } from './effects/effect';
import type { ShadowedPolicy } from './effects/shadowed';

const PROGRAM = join(__dirname, 'effects', 'plan-worker.js');
/** Policies sent to the thread at once. */
const CHUNK = 100;
/** Milliseconds beyond its time limit after which a thread counts as stuck. */
const GRACE = 1_000;
/** Most memory for the thread, in megabytes. */
const MEMORY = { maxOldGenerationSizeMb: 192, maxYoungGenerationSizeMb: 16 };

/** What was found, for the answer: its content must not be accessed. */
export interface FoundChanges {
  readonly effects: readonly Effect[];
  readonly reason: string | null;
  readonly shadowed: readonly ShadowedPolicy[];
}

/** Computes what changes between two sets of policies, in a separate thread. To be called for one plan at a time. */
@Injectable()
export class PolicyComparisons implements OnApplicationShutdown {
  private worker: Worker | null = null;

  constructor(
    private readonly records: RecordReader,
    private readonly configuration: Configuration,
  ) {}

  /** @param leaving aborted when nobody waits for the answer any more; its reason is thrown. */
  async compare(policies: readonly PlannedPolicy[], leaving: AbortSignal): Promise<FoundChanges> {
    leaving.throwIfAborted();
    const parts = this.partsOf(policies);
    // A thread only runs JavaScript; the sources may be uncompiled, as in tests.
    const found = await (existsSync(PROGRAM) ? this.inThread(parts, leaving) : inline(parts));
    const slices = new Slices();
    return {
      effects: await valuesOf<Effect>(found.effects, slices),
      reason: found.reason,
      shadowed: await valuesOf<ShadowedPolicy>(found.shadowed, slices),
    };
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
      const over = new AbortController();
      const end = (): void => over.abort();
      answer.then(end, end);
      const slices = await Slices.inTurn();
      for await (const part of parts) {
        // Nobody waits for it any more, or it took too long.
        if (over.signal.aborted) break;
        worker.postMessage(part);
        await slices.next();
      }
      return await answer;
    } finally {
      this.worker = null;
      await worker.terminate();
    }
  }
}

/** In chunks. */
async function valuesOf<Value>(texts: readonly string[], slices: Slices): Promise<Value[]> {
  const values: unknown[] = [];
  for (const text of texts) {
    values.push(await jsonForAnswer(text, slices));
    await slices.next();
  }
  return values as Value[];
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
