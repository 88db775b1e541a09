import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { type ChildProcess, fork } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { AGENT } from '../agents/agent.entity';
import { Configuration } from '../../core/config/configuration';
import { RecordReader } from '../../ledger/reading/record-reader';
import { subjectOf } from '../policies/patterns/subjects';
import { Comparison, type ComparedPolicies, type ComparisonPart } from './effects/comparison';
import type { PlannedPolicy } from './effects/planned-match';

const PROGRAM = join(__dirname, 'effects', 'plan-process.js');
/** Policies sent to the process at once. */
const CHUNK = 100;
/** Milliseconds beyond its time limit after which a process counts as stuck. */
const GRACE = 1_000;
/** Its own, so that a plan that needs too much memory ends alone: the limits of a thread yield to the program's flags. */
const MEMORY = ['--max-old-space-size=192', '--max-semi-space-size=8'];

/** Computes what changes between two sets of policies, in a separate process. To be called for one plan at a time. */
@Injectable()
export class PolicyComparisons implements OnApplicationShutdown {
  private child: ChildProcess | null = null;

  constructor(
    private readonly records: RecordReader,
    private readonly configuration: Configuration,
  ) {}

  /** @param leaving aborted when nobody waits for the answer any more; its reason is thrown. */
  async compare(policies: readonly PlannedPolicy[], leaving: AbortSignal): Promise<ComparedPolicies> {
    leaving.throwIfAborted();
    const parts = this.partsOf(policies);
    // A process only runs JavaScript; the sources may be uncompiled, as in tests.
    return existsSync(PROGRAM) ? this.inProcess(parts, leaving) : inline(parts);
  }

  onApplicationShutdown(): void {
    this.child?.kill('SIGKILL');
  }

  private async *partsOf(policies: readonly PlannedPolicy[]): AsyncGenerator<ComparisonPart> {
    for (let start = 0; start < policies.length; start += CHUNK)
      yield { policies: policies.slice(start, start + CHUNK) };
    for await (const agents of this.records.chunks(AGENT, [], CHUNK))
      yield { agents: agents.map((agent) => ({ ...subjectOf(agent), capabilities: agent.capabilities })) };
    yield { timeout: this.configuration.planTimeout };
  }

  private async inProcess(parts: AsyncIterable<ComparisonPart>, leaving: AbortSignal): Promise<ComparedPolicies> {
    const child = fork(PROGRAM, {
      env: {},
      execArgv: MEMORY,
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    this.child = child;
    try {
      const answer = answerOf(child, this.configuration.planTimeout, leaving);
      const sent = send(parts, child, leaving);
      // What ends the process early is in its answer.
      sent.catch(() => undefined);
      return await Promise.race([answer, sent.then(() => answer)]);
    } finally {
      this.child = null;
      child.kill('SIGKILL');
    }
  }
}

async function send(parts: AsyncIterable<ComparisonPart>, child: ChildProcess, leaving: AbortSignal): Promise<void> {
  for await (const part of parts) {
    leaving.throwIfAborted();
    await new Promise<void>((resolve) => child.send(part, () => resolve()));
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

/** An empty result with the reason, if the process does not finish on its own. */
function answerOf(child: ChildProcess, timeout: number, leaving: AbortSignal): Promise<ComparedPolicies> {
  return new Promise((resolve, reject) => {
    const none = (reason: string): void => resolve({ effects: [], reason, shadowed: [], warnings: [] });
    const late = setTimeout(
      () => none(`The plan took longer than PLAN_TIMEOUT allows (${timeout} ms).`),
      2 * timeout + GRACE,
    ).unref();
    leaving.addEventListener('abort', () => reject(leaving.reason as Error), { once: true });
    child.on('message', (answer) => resolve(answer as ComparedPolicies));
    child.on('error', reject);
    child.on('exit', () => {
      clearTimeout(late);
      none('The plan needed too much memory.');
    });
  });
}
