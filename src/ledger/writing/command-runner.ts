import { DatabaseFault } from '../database/database-fault';
import { type DomainError, unavailable } from '../../core/errors/domain-error';
import type { Batch } from './batch';
import { CommandTransaction } from './command-transaction';
import type { KeyedWrite } from '../idempotent-request';
import { decodeAnswer, encodeAnswer, type IdempotencyStore, usedForAnother } from '../idempotency/idempotency-store';
import type { QueuedCommand } from './ledger-queue';
import { Refusal } from '../ledger-transaction';
import type { AfterCommit } from './pending-changes';
import { writeTurns } from '../../core/concurrency/slices';

/** The result of one command. None of it may be reported before the commit. */
export interface CommandOutcome {
  readonly effects: readonly AfterCommit[];
  readonly answer: () => void;
  /** The error with which its caller is refused by a rule. */
  readonly refusal?: DomainError;
}

/** Milliseconds for which a command may neither read nor write: everybody else waits for it. */
const LONGEST_PAUSE = 1_000;
/** Milliseconds for all of a command that makes progress: less than others wait in the queue. */
const LONGEST_COMMAND = 8_000;

/** The command that runs, and how far it had got at the last check. */
interface RunningCommand {
  readonly transaction: CommandTransaction;
  readonly began: number;
  readonly reject: (error: Error) => void;
  /** Steps and turns until then. */
  seen: number;
}

/**
 * Runs commands, one at a time. A command is abandoned when it makes no progress, or takes too long. Single statements are
 * limited by the database.
 */
export class CommandRunner {
  private running: RunningCommand | null = null;
  /** Restarted for each command, which costs less than a timer for each. */
  private readonly limit = setTimeout(() => this.check(), LONGEST_PAUSE).unref();

  /** What the command throws is its caller's answer; a fault of the database is rethrown, and fails the whole batch. */
  run(
    batch: Batch,
    kept: IdempotencyStore,
    queued: QueuedCommand,
    now: string,
  ): CommandOutcome | Promise<CommandOutcome> {
    const { caller, keyed, reject } = queued;
    // Under the lock: a revocation or suspension by any process has taken effect before.
    const refusal = caller.refusal(now);
    if (refusal !== null) return { effects: [], answer: () => reject(refusal) };
    const known = keyed === null ? undefined : kept.find(keyed, now);
    if (keyed === null || known === undefined) return this.runNew(batch, kept, queued, now);
    if (known.contentHash !== keyed.contentHash) return { effects: [], answer: () => reject(usedForAnother()) };
    return this.replay(batch, queued, now, kept.answerOf(known), keyed);
  }

  private async runNew(
    batch: Batch,
    kept: IdempotencyStore,
    queued: QueuedCommand,
    now: string,
  ): Promise<CommandOutcome> {
    const { caller, command, keyed, resolve } = queued;
    const transaction = new CommandTransaction(batch, caller, now);
    try {
      const result = await this.inTime(command(transaction), transaction);
      transaction.finish();
      const answer = keyed === null ? '' : encodeAnswer(result, caller.requestId);
      const flushed = batch.join(transaction);
      if (flushed !== null) await flushed;
      if (keyed !== null) kept.keep(keyed, answer, now);
      if (result instanceof Refusal) return refused(queued, transaction, result);
      return { effects: transaction.effects, answer: () => resolve(result) };
    } catch (error) {
      return failed(queued, transaction, error);
    }
  }

  private async replay(
    batch: Batch,
    queued: QueuedCommand,
    now: string,
    kept: Promise<string>,
    keyed: KeyedWrite,
  ): Promise<CommandOutcome> {
    const answer = keptAnswer(keyed.id, await kept);
    const instead = await this.runBeforeReplay(batch, queued, now, answer);
    return instead ?? { effects: [], answer: replay(queued, keyed, answer) };
  }

  /** Null when the stored answer may be replayed. The key keeps that answer in any case. */
  private async runBeforeReplay(
    batch: Batch,
    queued: QueuedCommand,
    now: string,
    answer: unknown,
  ): Promise<CommandOutcome | null> {
    const { caller, beforeReplay } = queued;
    if (beforeReplay === null || answer instanceof Refusal || answer instanceof UnreadableAnswer) return null;
    const transaction = new CommandTransaction(batch, caller, now);
    try {
      const instead = await this.inTime(beforeReplay(transaction, answer), transaction);
      transaction.finish();
      if (instead === null) return null;
      await batch.join(transaction);
      if (instead instanceof Refusal) return refused(queued, transaction, instead);
      return { effects: transaction.effects, answer: () => queued.resolve(instead) };
    } catch (error) {
      return failed(queued, transaction, error);
    }
  }

  private inTime<Result>(command: Promise<Result>, transaction: CommandTransaction): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.running = { transaction, began: performance.now(), reject, seen: progressOf(transaction) };
      this.limit.refresh();
      command.then(resolve, reject);
    });
  }

  private check(): void {
    const { running } = this;
    if (running === null) return;
    const { transaction, began, reject, seen } = running;
    const isOver = performance.now() - began >= LONGEST_COMMAND;
    const progress = progressOf(transaction);
    const isMoving = transaction.isReading || progress > seen;
    running.seen = progress;
    if (isMoving && !isOver) {
      this.limit.refresh();
      return;
    }
    this.running = null;
    reject(isOver ? unavailable(OVER, RETRY_AFTER) : new Error(STILL));
  }
}

/** A command that compares thousands of records, say, takes no step for a while, but has its turns. */
function progressOf({ steps }: CommandTransaction): number {
  return steps + writeTurns();
}

function refused({ reject }: QueuedCommand, { effects }: CommandTransaction, { error }: Refusal): CommandOutcome {
  return { effects, answer: () => reject(error), refusal: error };
}

function failed({ reject }: QueuedCommand, transaction: CommandTransaction, error: unknown): CommandOutcome {
  transaction.finish();
  if (error instanceof DatabaseFault) throw error;
  return { effects: [], answer: () => reject(error instanceof Error ? error : new Error(String(error))) };
}

/** Replays the answer that the same request got before. */
function replay({ resolve, reject }: QueuedCommand, keyed: KeyedWrite, answer: unknown): () => void {
  return () => {
    keyed.onReplay();
    if (answer instanceof Refusal) reject(answer.error);
    else if (answer instanceof UnreadableAnswer) reject(answer);
    else resolve(answer);
  };
}

class UnreadableAnswer extends Error {}

/** Read before the commit, so that an altered answer affects only its own request. */
function keptAnswer(id: string, answer: string): unknown {
  try {
    return decodeAnswer(answer);
  } catch {
    return new UnreadableAnswer(`The answer that was kept for the idempotency key ${id} cannot be read.`);
  }
}

const STILL = `A command stood still for ${LONGEST_PAUSE} milliseconds; nothing of it is written.`;
const OVER = `The write did not end within ${LONGEST_COMMAND} milliseconds.`;
/** Seconds after which a write that took too long, as the service has much else to do, may be tried again. */
const RETRY_AFTER = 5;
