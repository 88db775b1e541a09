import { DatabaseFault } from '../database/database-fault';
import { conflict, type DomainError } from '../errors/domain-error';
import type { Batch } from './batch';
import { inTime } from './command-time';
import { CommandTransaction } from './command-transaction';
import type { KeyedWrite } from './idempotency/idempotent-request';
import { decodeAnswer, encodeAnswer } from './idempotency/kept-answer';
import type { KeptAnswers } from './idempotency/kept-answers';
import { ledgerTime } from './ledger-position';
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
export async function runCommand(batch: Batch, kept: KeptAnswers, queued: QueuedCommand): Promise<CommandOutcome> {
  const { caller, command, keyed, resolve, reject } = queued;
  const now = ledgerTime(Date.now(), batch.position.timestamp);
  const known = keyed === null ? undefined : kept.find(keyed, now);
  if (keyed !== null && known !== undefined) {
    if (known.contentHash !== keyed.contentHash)
      return { effects: [], answer: () => reject(conflict(ANOTHER_REQUEST)) };
    return { effects: [], answer: replay(queued, keyed, keptAnswer(known.id, await kept.answerOf(known))) };
  }
  const transaction = new CommandTransaction(batch, caller, now);
  try {
    const result = await inTime(command(transaction), transaction);
    transaction.finish();
    const answer = keyed === null ? '' : encodeAnswer(result, caller.requestId);
    await batch.join(transaction);
    if (keyed !== null) kept.keep(keyed, answer, now);
    const { effects } = transaction;
    if (result instanceof Refusal) return { effects, answer: () => reject(result.error), refusal: result.error };
    return { effects, answer: () => resolve(result) };
  } catch (error) {
    transaction.finish();
    if (error instanceof DatabaseFault) throw error;
    return { effects: [], answer: () => reject(error instanceof Error ? error : new Error(String(error))) };
  }
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
