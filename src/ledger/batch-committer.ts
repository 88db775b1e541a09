import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../database/database';
import { DatabaseFault } from '../database/database-fault';
import type { SqlConnection } from '../database/sql-connection';
import type { DomainError } from '../errors/domain-error';
import { Batch } from './batch';
import { CommandTransaction } from './command-transaction';
import { failStop } from './fail-stop';
import { readHead } from './ledger-head-row';
import { ledgerTime, type LedgerPosition } from './ledger-position';
import type { QueuedCommand } from './ledger-queue';
import { Refusal } from './ledger-transaction';
import type { MemoryFollowers } from './memory-followers';
import type { RecordCatalog } from './record-catalog';
import { StoredRows } from './stored-rows';
import type { WriterConnection } from './writer-connection';

const SELECT_HASH = `SELECT "hash" FROM "ledger_entries" WHERE "sequence" = $1`;
/** Milliseconds. */
const LOOK_UP_INTERVAL = 500;

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
}

/** Runs commands one after another in one database transaction and commits them together. */
export class BatchCommitter {
  constructor(
    private readonly database: Database,
    private readonly catalog: RecordCatalog,
    private readonly writer: WriterConnection,
    private readonly followers: MemoryFollowers,
  ) {}

  /** Throws when the batch as a whole failed; then nothing of it is in the database. */
  async commit(commands: readonly QueuedCommand[]): Promise<CommittedBatch> {
    const { dialect } = this.database;
    const connection = await this.writer.current();
    const stored = new StoredRows(connection, this.catalog);
    // Called together, so that a server on a network answers both in one round trip.
    const lookups = commands.flatMap((command) => command.lookups);
    const [head] = await Promise.all([this.begin(connection), stored.prefetch(lookups)]);
    await this.followers.catchUp(connection, head);
    const batch = new Batch(connection, dialect, this.catalog, stored, head);
    const outcomes: CommandOutcome[] = [];
    for (const command of commands) {
      const outcome = await run(batch, command);
      outcomes.push(outcome);
      // Its effects must be in place before a later command runs.
      if (outcome.effects.length > 0 || batch.isFull) break;
    }
    const hasChanged = await batch.finish();
    const began = performance.now();
    if (hasChanged) await this.commitTransaction(connection, batch.position);
    else await connection.run('ROLLBACK');
    const commitDuration = hasChanged ? performance.now() - began : null;
    return { outcomes, rest: commands.slice(outcomes.length), position: batch.position, commitDuration };
  }

  private async begin(connection: SqlConnection): Promise<LedgerPosition> {
    const { begin, lockRow } = this.database.dialect;
    const [, head] = await Promise.all([connection.run(begin), readHead(connection, lockRow)]);
    return head;
  }

  private async commitTransaction(connection: SqlConnection, position: LedgerPosition): Promise<void> {
    this.writer.checkPlace();
    try {
      await connection.run('COMMIT');
    } catch (error) {
      await this.afterFailedCommit(error, position);
    }
  }

  /** An error at COMMIT does not tell whether it took place: the entry that it would have left does. */
  private async afterFailedCommit(error: unknown, position: LedgerPosition): Promise<void> {
    const kind = error instanceof DatabaseFault ? error.kind : 'programming';
    if (kind === 'constraint') throw error;
    if (kind === 'storage') failStop(`The commit up to sequence ${position.sequence} met a storage error.`);
    await this.writer.failed(error);
    if (!(await this.tookPlace(position))) throw error;
  }

  /** Asks until the database answers: an answer to the callers before that could be a lie. */
  private async tookPlace(position: LedgerPosition): Promise<boolean> {
    for (;;) {
      try {
        return await this.isCommitted(position);
      } catch (error) {
        await this.writer.failed(error);
        await sleep(LOOK_UP_INTERVAL);
      }
    }
  }

  private async isCommitted({ sequence, hash }: LedgerPosition): Promise<boolean> {
    const connection = await this.writer.current();
    // Waits for a transaction of the lost connection that the server has not ended yet.
    await this.begin(connection);
    const [entry] = await connection.all<{ hash: string }>(SELECT_HASH, [sequence]);
    await connection.run('ROLLBACK');
    return entry?.hash === hash;
  }
}

async function run(batch: Batch, { caller, command, resolve, reject }: QueuedCommand): Promise<CommandOutcome> {
  const transaction = new CommandTransaction(batch, caller, ledgerTime(Date.now(), batch.position.timestamp));
  try {
    const result = await command(transaction);
    transaction.finish();
    await batch.join(transaction);
    const { effects } = transaction;
    if (result instanceof Refusal) return { effects, answer: () => reject(result.error), refusal: result.error };
    return { effects, answer: () => resolve(result) };
  } catch (error) {
    transaction.finish();
    if (error instanceof DatabaseFault) throw error;
    return { effects: [], answer: () => reject(error instanceof Error ? error : new Error(String(error))) };
  }
}
