import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { AGENT } from '../agents/agent.entity';
import { TimeSlice } from '../../core/concurrency/time-slice';
import { Configuration } from '../../core/config/configuration';
import { teamConditions } from '../../ledger/records/visibility';
import { RecordReader } from '../../ledger/reading/record-reader';
import { type PolicyAgent, subjectOf } from '../policies/patterns/subjects';
import { PolicyComparison, type ComparedPolicies, type ComparisonPart } from './effects/comparison';
import type { PlannedPolicy } from './effects/planned-match';
import { type FoundEffects, TOO_MUCH_MEMORY } from './effects/policy-effects';

const PROGRAM = join(__dirname, 'effects', 'plan-process.js');
/** Policies, or agents, sent to the process at once. */
const CHUNK_SIZE = 100;
/** Milliseconds beyond twice PLAN_TIMEOUT, after which the process counts as stuck and is killed. */
const GRACE_MS = 1_000;
/** Heap limits of the child process, so that too large a plan ends it alone. Flags override the limits of a thread. */
const MEMORY = ['--max-old-space-size=192', '--max-semi-space-size=8'];
/** Signals that end a process for lack of memory: V8's at its heap limit, the kernel's at that of the container. */
const SIGNALS_FOR_MEMORY: readonly NodeJS.Signals[] = ['SIGABRT', 'SIGTRAP', 'SIGILL', 'SIGKILL'];

/** Computes the changes between two sets of policies, in a separate process. Call it for one plan at a time. */
@Injectable()
export class PolicyComparisons implements OnApplicationShutdown {
  private child: ChildProcess | null = null;

  constructor(
    private readonly records: RecordReader,
    private readonly configuration: Configuration,
  ) {}

  /**
   * @param team team whose policies change and whose agents are compared; null for policies of no team and all agents
   * @param signal aborted when nobody waits for the result any more; its reason is thrown
   */
  compare(policies: readonly PlannedPolicy[], team: string | null, signal: AbortSignal): Promise<ComparedPolicies> {
    return this.runComparison(this.comparisonParts(policies, team), signal);
  }

  /** Finds the effects on one agent. The subjects of all policies must name the agent by its id. */
  async compareFor(agent: PolicyAgent, policies: readonly PlannedPolicy[], signal: AbortSignal): Promise<FoundEffects> {
    if (!policies.some(({ isBefore, isAfter }) => isBefore !== isAfter)) return { effects: [], reason: null };
    const agents = [{ ...subjectOf(agent), capabilities: [] }];
    const timeout = this.configuration.planTimeout;
    return this.runComparison(
      policyParts(policies, [{ agents }, { timeout, team: null, hasEffectsOnly: true }]),
      signal,
    );
  }

  onApplicationShutdown(): void {
    this.child?.kill('SIGKILL');
  }

  private async runComparison(parts: AsyncIterable<ComparisonPart>, signal: AbortSignal): Promise<ComparedPolicies> {
    signal.throwIfAborted();
    // A child process only runs JavaScript, so uncompiled sources, as in tests, are compared here.
    return existsSync(PROGRAM) ? this.compareInChild(parts, signal) : compareHere(parts);
  }

  private async *comparisonParts(
    policies: readonly PlannedPolicy[],
    team: string | null,
  ): AsyncGenerator<ComparisonPart> {
    const conditions = team === null ? [] : teamConditions(AGENT, team);
    yield* policyParts(policies, []);
    for await (const agents of this.records.chunks(AGENT, conditions, CHUNK_SIZE))
      yield { agents: agents.map((agent) => ({ ...subjectOf(agent), capabilities: agent.capabilities })) };
    yield { timeout: this.configuration.planTimeout, team };
  }

  private async compareInChild(parts: AsyncIterable<ComparisonPart>, signal: AbortSignal): Promise<ComparedPolicies> {
    const child = fork(PROGRAM, {
      env: {},
      execArgv: MEMORY,
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    this.child = child;
    const { planTimeout } = this.configuration;
    const timeLimit = AbortSignal.timeout(2 * planTimeout + GRACE_MS);
    try {
      const answer = once(child, 'message', { signal: AbortSignal.any([signal, timeLimit]) });
      const result = answer.then(([compared]) => compared as ComparedPolicies);
      const exit = once(child, 'exit').then(([code, killedBy]) =>
        resultOfEarlyExit(code as number | null, killedBy as NodeJS.Signals | null),
      );
      return await Promise.race([result, exit, send(parts, child, signal).then(() => result)]);
    } catch (error) {
      signal.throwIfAborted();
      if (!timeLimit.aborted) throw error;
      return emptyResult(`The plan took longer than PLAN_TIMEOUT allows (${planTimeout} ms).`);
    } finally {
      this.child = null;
      child.kill('SIGKILL');
    }
  }
}

async function* policyParts(
  policies: readonly PlannedPolicy[],
  others: readonly ComparisonPart[],
): AsyncGenerator<ComparisonPart> {
  for (let start = 0; start < policies.length; start += CHUNK_SIZE)
    yield { policies: policies.slice(start, start + CHUNK_SIZE) };
  yield* others;
}

/** @throws Error unless memory was the cause: the process has a bug, or somebody else ended it */
function resultOfEarlyExit(code: number | null, signal: NodeJS.Signals | null): ComparedPolicies {
  if (signal !== null && SIGNALS_FOR_MEMORY.includes(signal)) return emptyResult(TOO_MUCH_MEMORY);
  throw new Error(`The process that compares policies ended early: ${signal ?? `exit code ${code}`}.`);
}

function emptyResult(reason: string): ComparedPolicies {
  return { effects: [], reason, shadowed: [], warnings: [] };
}

async function send(parts: AsyncIterable<ComparisonPart>, child: ChildProcess, signal: AbortSignal): Promise<void> {
  const turn = new TimeSlice();
  for await (const part of parts) {
    if (turn.isOver) await turn.next();
    signal.throwIfAborted();
    await new Promise<void>((resolve) => child.send(part, () => resolve()));
  }
}

async function compareHere(parts: AsyncIterable<ComparisonPart>): Promise<ComparedPolicies> {
  const comparison = new PolicyComparison();
  for await (const part of parts) {
    const answer = await comparison.take(part);
    if (answer !== null) return answer;
  }
  throw new Error('The comparison ended without a result.');
}
