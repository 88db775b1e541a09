import { DatabaseFault } from '../database/database-fault';
import { conflict, type DomainError } from '../errors/domain-error';
import type { Batch } from './batch';
import { inTime } from './command-time';
import { CommandTransaction } from './command-transaction';
import type { KeyedWrite } from './idempotency/idempotent-request';
import { decodeAnswer, encodeAnswer } from './idempotency/kept-answer';
import type { KeptAnswers } from './idempotency/kept-answers';
import type { QueuedCommand } from './ledger-queue';
import { Refusal } from './ledger-transaction';

const ANOTHER_REQUEST = 'The Idempotency-Key was used for a request with another body. Give this one a key of its own.';

/** What one command came to. Nothing of it may be told before the commit. */
export interface CommandOutcome {
  readonly effects: readonly (() => void)[];
  readonly answer: () => void;
  /** What its caller is refused by rule. */
  readonly refusal?: DomainError;
}

/** What it throws by rule is its caller's answer; a fault of the database is thrown, and fails the whole batch. */
export async function runCommand(
  batch: Batch,
  kept: KeptAnswers,
  queued: QueuedCommand,
  now: string,
): Promise<CommandOutcome> {
  const { keyed, reject } = queued;
  const known = keyed === null ? undefined : kept.find(keyed, now);
  if (keyed === null || known === undefined) return run(batch, kept, queued, now);
  if (known.contentHash !== keyed.contentHash) return { effects: [], answer: () => reject(conflict(ANOTHER_REQUEST)) };
  const answer = keptAnswer(known.id, await kept.answerOf(known));
  const instead = await runBeforeReplay(batch, queued, now, answer);
  return instead ?? { effects: [], answer: replay(queued, keyed, answer) };
}

async function run(batch: Batch, kept: KeptAnswers, queued: QueuedCommand, now: string): Promise<CommandOutcome> {
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

/** Null when the kept answer may be given again. The key keeps that answer in any case. */
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
    const refusal = await inTime(beforeReplay(transaction, answer), transaction);
    transaction.finish();
    if (refusal === null) return null;
    await batch.join(transaction);
    return refused(queued, transaction, refusal);
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

/** Answers what the same request was answered before. */
function replay({ resolve, reject }: QueuedCommand, keyed: KeyedWrite, answer: unknown): () => void {
  return () => {
    keyed.onReplay();
    if (answer instanceof Refusal) reject(answer.error);
    else if (answer instanceof UnreadableAnswer) reject(answer);
    else resolve(answer);
  };
}

class UnreadableAnswer extends Error {}

/** Read before the commit, so that one that was altered concerns its own request only. */
function keptAnswer(id: string, answer: string): unknown {
  try {
    return decodeAnswer(answer);
  } catch {
    return new UnreadableAnswer(`The answer that was kept for the idempotency key ${id} cannot be read.`);
  }
}
