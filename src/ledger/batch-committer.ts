import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../database/database';
import { DatabaseFault } from '../database/database-fault';
import type { SqlConnection, SqlValue } from '../database/sql-connection';
import { conflict, type DomainError } from '../errors/domain-error';
import { Batch } from './batch';
import { CommandTransaction } from './command-transaction';
import type { CommitProof } from './commit-proof';
import { failStop } from './fail-stop';
import type { IdempotencyKey } from './idempotency/idempotency-key.entity';
import type { KeyedWrite } from './idempotency/idempotent-request';
import { decodeAnswer, encodeAnswer } from './idempotency/kept-answer';
import { KeptAnswers } from './idempotency/kept-answers';
import { readHead } from './ledger-head-row';
import { ledgerTime, type LedgerPosition } from './ledger-position';
import type { GatheredCommands, QueuedCommand } from './ledger-queue';
import { Refusal } from './ledger-transaction';
import type { MemoryFollowers } from './memory-followers';
import type { RecordCatalog } from './record-catalog';
import { StoredRows } from './stored-rows';
import type { WriterConnection } from './writer-connection';

const SELECT_HASH = `SELECT "hash" AS "found" FROM "ledger_entries" WHERE "sequence" = $1`;
const ANOTHER_REQUEST = 'The Idempotency-Key was used for a request with another body. Give this one a key of its own.';
/** Milliseconds. */
const LOOK_UP_INTERVAL = 500;
/** Milliseconds after which a batch without any idempotency key removes expired ones, too. */
const TIDYING_INTERVAL = 1_000;

/** What one command came to. Nothing of it may be told before the commit. */
interface CommandOutcome {
  readonly effects: readonly (() => void)[];
  readonly answer: () => void;
  /** What its caller is refused by rule. */
  readonly refusal?: DomainError;
}

export interface CommittedBatch {
  readonly outcomes: readonly CommandOutcome[];
  /** Commands that have to wait for the next batch. */
  readonly rest: readonly QueuedCommand[];
  readonly position: LedgerPosition;
  /** Milliseconds; null when there was nothing to commit. */
  readonly commitDuration: number | null;
  /** False for nothing but answers that were kept, too: those are small enough to find room where no entry does. */
  readonly hasEntries: boolean;
}

type FinishedBatch = Pick<CommittedBatch, 'hasEntries'> & { readonly proof: CommitProof | null };

/** Runs commands one after another in one database transaction and commits them together. */
export class BatchCommitter {
  /** Monotonic milliseconds. */
  private tidiedAt = 0;

  constructor(
    private readonly database: Database,
    private readonly catalog: RecordCatalog,
    private readonly writer: WriterConnection,
    private readonly followers: MemoryFollowers,
  ) {}

  /** Throws when the batch as a whole failed; then nothing of it is in the database. */
  async commit(commands: GatheredCommands): Promise<CommittedBatch> {
    const { dialect } = this.database;
    const connection = await this.writer.current();
    const stored = new StoredRows(connection, this.catalog);
    const kept = new KeptAnswers(connection, dialect);
    // Called together, so that a server on a network answers all in one round trip.
    const [head] = await Promise.all([this.begin(connection), prefetch(commands.all, stored, kept)]);
    await Promise.all([prefetch(commands.gather(), stored, kept), this.followers.catchUp(connection, head)]);
    const batch = new Batch(connection, dialect, this.catalog, stored, head);
    const outcomes: CommandOutcome[] = [];
    for (const command of commands.all) {
      const outcome = await run(batch, kept, command);
      outcomes.push(outcome);
      // Its effects must be in place before a later command runs.
      if (outcome.effects.length > 0 || batch.isFull) break;
    }
    const { proof, hasEntries } = await this.finish(batch, kept);
    const began = performance.now();
    if (proof === null) await connection.run('ROLLBACK');
    else await this.commitTransaction(connection, proof);
    const commitDuration = proof === null ? null : performance.now() - began;
    const rest = commands.all.slice(outcomes.length);
    return { outcomes, rest, position: batch.position, commitDuration, hasEntries };
  }

  /** Writes what is left to write. The proof is null when there is nothing to commit. */
  private async finish(batch: Batch, kept: KeptAnswers): Promise<FinishedBatch> {
    const { sequence, hash, timestamp } = batch.position;
    const began = performance.now();
    const isTidying = began - this.tidiedAt > TIDYING_INTERVAL;
    if (isTidying) this.tidiedAt = began;
    const [hasEntries, ofKeys] = await Promise.all([batch.finish(), kept.write(timestamp, isTidying)]);
    const proof = hasEntries ? { sql: SELECT_HASH, parameters: [sequence], found: hash } : ofKeys;
    return { proof, hasEntries };
  }

  private async begin(connection: SqlConnection): Promise<LedgerPosition> {
    const { begin, lockRow } = this.database.dialect;
    const [, head] = await Promise.all([connection.run(begin), readHead(connection, lockRow)]);
    return head;
  }

  private async commitTransaction(connection: SqlConnection, proof: CommitProof): Promise<void> {
    this.writer.checkPlace();
    try {
      await connection.run('COMMIT');
    } catch (error) {
      await this.afterFailedCommit(error, proof);
    }
  }

  /** An error at COMMIT does not tell whether it took place: the row that it would have left does. */
  private async afterFailedCommit(error: unknown, proof: CommitProof): Promise<void> {
    const kind = error instanceof DatabaseFault ? error.kind : 'programming';
    if (kind === 'constraint') throw error;
    if (kind === 'storage') failStop('A commit met a storage error.');
    await this.writer.failed(error);
    if (!(await this.tookPlace(proof))) throw error;
  }

  /**
   * Asks until the database answers: an answer to the callers before that could be a lie. A server comes back; a file
   * that was removed or replaced does not, and cannot tell any more.
   */
  private async tookPlace(proof: CommitProof): Promise<boolean> {
    while (this.database.isInPlace()) {
      try {
        return await this.isCommitted(proof);
      } catch (error) {
        await this.writer.failed(error);
        await sleep(LOOK_UP_INTERVAL);
      }
    }
    return failStop('Whether a commit took place cannot be found out.');
  }

  private async isCommitted({ sql, parameters, found }: CommitProof): Promise<boolean> {
    const connection = await this.writer.current();
    // Waits for a transaction of the lost connection that the server has not ended yet.
    await this.begin(connection);
    const [row] = await connection.all<{ found: SqlValue }>(sql, parameters);
    await connection.run('ROLLBACK');
    return row?.found === found;
  }
}

/** Reads what the commands will ask for, in a statement for all of them. */
async function prefetch(commands: readonly QueuedCommand[], stored: StoredRows, kept: KeptAnswers): Promise<void> {
  const lookups = commands.flatMap((command) => command.lookups);
  const writes = commands.flatMap(({ keyed }) => keyed ?? []);
  await Promise.all([stored.prefetch(lookups), kept.prefetch(writes)]);
}

async function run(batch: Batch, kept: KeptAnswers, queued: QueuedCommand): Promise<CommandOutcome> {
  const { caller, command, keyed, resolve, reject } = queued;
  const now = ledgerTime(Date.now(), batch.position.timestamp);
  const known = keyed === null ? undefined : kept.find(keyed, now);
  if (keyed !== null && known !== undefined) return { effects: [], answer: replay(queued, keyed, known) };
  const transaction = new CommandTransaction(batch, caller, now);
  try {
    const result = await command(transaction);
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

/** Answers what the same request was answered before; another one under its key is a conflict. */
function replay({ resolve, reject }: QueuedCommand, keyed: KeyedWrite, known: IdempotencyKey): () => void {
  if (known.contentHash !== keyed.contentHash) return () => reject(conflict(ANOTHER_REQUEST));
  const answer = keptAnswer(known);
  return () => {
    keyed.onReplay();
    if (answer instanceof Refusal) reject(answer.error);
    else if (answer instanceof UnreadableAnswer) reject(answer);
    else resolve(answer);
  };
}

class UnreadableAnswer extends Error {}

/** Read before the commit, so that one that was altered concerns its own request only. */
function keptAnswer({ id, answer }: IdempotencyKey): unknown {
  try {
    return decodeAnswer(answer);
  } catch {
    return new UnreadableAnswer(`The answer that was kept for the idempotency key ${id} cannot be read.`);
  }
}
