import { DatabaseFault } from '../../database/database-fault';
import { conflict, type DomainError } from '../../errors/domain-error';
import type { Batch } from './batch';
import { CommandTransaction } from './command-transaction';
import type { KeyedWrite } from '../idempotent-request';
import { decodeAnswer, encodeAnswer, type IdempotencyStore } from '../idempotency/idempotency-store';
import type { QueuedCommand } from './ledger-queue';
import { Refusal } from '../ledger-transaction';

const ANOTHER_REQUEST = 'The Idempotency-Key was used for a request with another body. Give this one a key of its own.';

/** The result of one command. None of it may be reported before the commit. */
export interface CommandOutcome {
  readonly effects: readonly (() => void)[];
  readonly answer: () => void;
  /** The error with which its caller is refused by a rule. */
  readonly refusal?: DomainError;
}

/** What the command throws is its caller's answer; a fault of the database is rethrown, and fails the whole batch. */
export async function runCommand(
  batch: Batch,
  kept: IdempotencyStore,
  queued: QueuedCommand,
  now: string,
): Promise<CommandOutcome> {
  const { caller, keyed, reject } = queued;
  // Under the lock: a revocation or suspension by any process has taken effect before.
  const refusal = caller.refusal(now);
  if (refusal !== null) return { effects: [], answer: () => reject(refusal) };
  const known = keyed === null ? undefined : kept.find(keyed, now);
  if (keyed === null || known === undefined) return run(batch, kept, queued, now);
  if (known.contentHash !== keyed.contentHash) return { effects: [], answer: () => reject(conflict(ANOTHER_REQUEST)) };
  const answer = keptAnswer(known.id, await kept.answerOf(known));
  const instead = await runBeforeReplay(batch, queued, now, answer);
  return instead ?? { effects: [], answer: replay(queued, keyed, answer) };
}

async function run(batch: Batch, kept: IdempotencyStore, queued: QueuedCommand, now: string): Promise<CommandOutcome> {
  const { caller, command, keyed, resolve } = queued;
  const transaction = new CommandTransaction(batch, caller, now);
  try {
    const result = await inTime(command(transaction), transaction);
    transaction.finish();
    const answer = keyed === null ? '' : encodeAnswer(result, caller.requestId);
    await batch.join(transaction);
    if (keyed !== null) kept.keep(keyed, answer, now);
    if (result instanceof Refusal) return refused(queued, transaction, result);
    return { effects: transaction.effects, answer: () => resolve(result) };
  } catch (error) {
    return failed(queued, transaction, error);
  }
}

/** Null when the stored answer may be replayed. The key keeps that answer in any case. */
async function runBeforeReplay(
  batch: Batch,
  queued: QueuedCommand,
  now: string,
  answer: unknown,
): Promise<CommandOutcome | null> {
  const { caller, beforeReplay } = queued;
  if (beforeReplay === null || answer instanceof Refusal || answer instanceof UnreadableAnswer) return null;
  const transaction = new CommandTransaction(batch, caller, now);
  try {
    const instead = await inTime(beforeReplay(transaction, answer), transaction);
    transaction.finish();
    if (instead === null) return null;
    await batch.join(transaction);
    if (instead instanceof Refusal) return refused(queued, transaction, instead);
    return { effects: transaction.effects, answer: () => queued.resolve(instead) };
  } catch (error) {
    return failed(queued, transaction, error);
  }
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

/** Milliseconds for which a command may neither read nor write: everybody else waits for it. */
const LONGEST_PAUSE = 1_000;
/** Milliseconds for all of a command that makes progress: less than others wait in the queue. */
const LONGEST_COMMAND = 8_000;

/**
 * The result of a command, which is abandoned when it makes no progress, or takes too long. Single statements are
 * limited by the database.
 */
function inTime<Result>(command: Promise<Result>, transaction: CommandTransaction): Promise<Result> {
  const began = performance.now();
  let seen = transaction.steps;
  return new Promise((resolve, reject) => {
    const limit = setTimeout(() => {
      const isOver = performance.now() - began >= LONGEST_COMMAND;
      const isMoving = transaction.isReading || transaction.steps > seen;
      seen = transaction.steps;
      if (isMoving && !isOver) limit.refresh();
      else reject(new Error(`A command ${isOver ? OVER : STILL}; nothing of it is written.`));
    }, LONGEST_PAUSE);
    void command.then(resolve, reject).finally(() => clearTimeout(limit));
  });
}

const STILL = `stood still for ${LONGEST_PAUSE} milliseconds`;
const OVER = `did not end within ${LONGEST_COMMAND} milliseconds`;
