import { DatabaseFault } from '../database/database-fault';
import { type DomainError, unavailable } from '../../core/errors/domain-error';
import { TimeSlice } from '../../core/concurrency/time-slice';
import type { AfterCommit, Batch } from './batch';
import type { Caller } from '../kinds/caller';
import { CommandDraft } from './command-draft';
import type { IdempotentWrite } from '../kinds/idempotent-request';
import { decodeAnswer, encodeAnswer, responseSubjects, keyReuseConflict } from '../idempotency/idempotency-store';
import {
  Deferral,
  Refusal,
  type ServiceCommand,
  type ServiceTransaction,
  type ServiceWriteOptions,
} from '../commands/ledger-transaction';
import type { Projections } from '../head/projections';

/** A command in the queue, and the promise for which its caller waits. */
export interface QueuedCommand extends ServiceWriteOptions<unknown> {
  readonly caller: Caller;
  readonly command: ServiceCommand<unknown>;
  /** Null if the request has no idempotency key. */
  readonly keyed: IdempotentWrite | null;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
  /** Monotonic milliseconds after which the command is no longer started. */
  readonly deadline: number;
}

/** Result of one command, which must not be reported before the commit. */
export interface CommandOutcome {
  readonly effects: readonly AfterCommit[];
  readonly answer: () => void;
  /** Error with which a rule refuses the caller. */
  readonly refusal?: DomainError;
}

/** Most milliseconds in which a command neither reads nor writes: everybody else waits for it. */
const MAX_PAUSE_MS = 1_000;
/** Most milliseconds of a command that makes progress: fewer than a command may wait in the queue. */
const MAX_COMMAND_MS = 8_000;
const STILL = `A command stood still for ${MAX_PAUSE_MS} milliseconds; nothing of it is written.`;
const OVER = `The write did not end within ${MAX_COMMAND_MS} milliseconds.`;
/** Seconds after which a client may repeat a write that took too long because the service was busy. */
const RETRY_AFTER = 5;

/** The running command, and its progress at the last check. */
interface RunningCommand {
  readonly draft: CommandDraft;
  readonly began: number;
  readonly reject: (error: Error) => void;
  /** Number of steps and turns at the last check. */
  progress: number;
}

/**
 * Runs commands, one at a time. Abandons a command that makes no progress or takes too long. Single statements are
 * limited by the database.
 */
export class Commands {
  private running: RunningCommand | null = null;

  /** Restarted for each command, which costs less than a new timer. */
  private readonly limit = setTimeout(() => this.check(), MAX_PAUSE_MS).unref();

  constructor(private readonly memory: Projections) {}

  /**
   * Runs a command. An error that it throws becomes its caller's response; a fault of the database is rethrown, and
   * fails the whole batch.
   * @param now ledger time of the command
   */
  async run(batch: Batch, queued: QueuedCommand, now: string): Promise<CommandOutcome> {
    const { caller, command, keyed, reject } = queued;
    // Checked under the lock, so a revocation or suspension by any process has taken effect before.
    const refusal = caller.refusal(now);
    if (refusal !== null) return { effects: [], answer: () => reject(refusal) };
    if (keyed === null) return this.perform(batch, queued, now, command);
    const storedKey = batch.reads.idempotency.find(keyed, now);
    if (storedKey === undefined) return this.perform(batch, queued, now, command, keyed);
    if (storedKey.contentHash !== keyed.contentHash) return { effects: [], answer: () => reject(keyReuseConflict()) };
    const content = await batch.reads.idempotency.answerOf(storedKey);
    let answer: unknown;
    try {
      answer = decodeAnswer(content);
    } catch {
      // Read before the commit, so that an altered response affects only its own request.
      const unreadable = new Error(`The answer that was kept for the idempotency key ${keyed.id} cannot be read.`);
      return { effects: [], answer: () => reject(unreadable) };
    }
    return this.replay(batch, queued, now, keyed, answer);
  }

  /** @param keyed key under which the response is stored */
  private async perform(
    batch: Batch,
    { caller, resolve, reject }: QueuedCommand,
    now: string,
    command: ServiceCommand<unknown>,
    keyed?: IdempotentWrite,
  ): Promise<CommandOutcome> {
    const draft = new CommandDraft(batch, caller, now);
    try {
      const result = await this.inTime(command(draft), draft);
      draft.finish();
      const keptKey = result instanceof Deferral ? undefined : keyed;
      const answer = keptKey === undefined ? '' : encodeAnswer(result, caller.requestId);
      const { effects } = draft.pending;
      effects.push(...this.memory.effectsOf(draft.pending));
      await batch.join(draft.pending);
      if (keptKey !== undefined)
        batch.reads.idempotency.keep(keptKey, answer, responseSubjects(draft.recorded, result), now);
      if (result instanceof Deferral) return { effects, answer: () => reject(result.reason) };
      if (!(result instanceof Refusal)) return { effects, answer: () => resolve(result) };
      const { error } = result;
      return { effects, answer: () => reject(error), refusal: error };
    } catch (error) {
      draft.finish();
      if (error instanceof DatabaseFault) throw error;
      return { effects: [], answer: () => reject(error instanceof Error ? error : new Error(String(error))) };
    } finally {
      this.running = null;
    }
  }

  /**
   * Responds as to the earlier request, unless `beforeReplay` has another response. The key keeps the first response.
   */
  private async replay(
    batch: Batch,
    queued: QueuedCommand,
    now: string,
    keyed: IdempotentWrite,
    answer: unknown,
  ): Promise<CommandOutcome> {
    const { beforeReplay, resolve, reject } = queued;
    if (beforeReplay !== undefined && !(answer instanceof Refusal)) {
      const options: { mayReplay?: boolean } = {};
      const checkReplay = async (transaction: ServiceTransaction): Promise<unknown> => {
        const instead = await beforeReplay(transaction, answer);
        options.mayReplay = instead === null;
        return instead;
      };
      const outcome = await this.perform(batch, queued, now, checkReplay);
      if (options.mayReplay !== true) return outcome;
    }
    const repeat = (): void => {
      keyed.onReplay();
      if (answer instanceof Refusal) reject(answer.error);
      else resolve(answer);
    };
    return { effects: [], answer: repeat };
  }

  private inTime<Result>(command: Promise<Result>, draft: CommandDraft): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.running = { draft, began: performance.now(), reject, progress: draft.steps + TimeSlice.begun };
      this.limit.refresh();
      command.then(resolve, reject);
    });
  }

  private check(): void {
    const { running } = this;
    if (running === null) return;
    const { draft, began, reject, progress } = running;
    const isOver = performance.now() - began >= MAX_COMMAND_MS;
    // A command that compares thousands of records takes turns even while it neither reads nor writes.
    running.progress = draft.steps + TimeSlice.begun;
    if (!isOver && (draft.isReading || running.progress > progress)) {
      draft.keepSession();
      this.limit.refresh();
      return;
    }
    this.running = null;
    reject(isOver ? unavailable(OVER, RETRY_AFTER) : new Error(STILL));
  }
}
