import type { DataSourceOptions } from 'typeorm';
import { SerialQueue } from '../../core/concurrency/serial-queue';
import type { Dialect } from './dialect';
import { type ReplacedTable, replacedTables } from './found-tables';
import type { SqlConnection, SqlSessions } from './sql-connection';
import type { SchemaContribution } from './start-condition';

/**
 * The opened, migrated database. One connection writes records and belongs to the ledger alone. Point reads, lists and
 * verification each have a read-only one, so that a slow one does not hold up the quick ones.
 */
export abstract class Database {
  private closing: Promise<void> | null = null;
  private readonly alone = new SerialQueue();
  abstract readonly dialect: Dialect;
  /** For people: where the records are, without a password. */
  abstract readonly location: string;
  abstract readonly points: SqlSessions;
  abstract readonly lists: SqlSessions;
  abstract readonly chain: SqlSessions;
  /** Writes data that is not a record, such as the progress of a delivery, by single idempotent statements. */
  abstract readonly sideConnection: SqlSessions;
  /** Identifies this process among those that write the database; it changes with every start. */
  abstract readonly processId: string;
  /**
   * The name under which this process begins executions. It changes when the lease has lapsed: other processes may then
   * mark what was begun under the old name as interrupted, but nothing begun since. Null while the lease may have lapsed:
   * then no execution can begin.
   */
  abstract readonly runner: string | null;
  /** False if no other process can write while this one runs. */
  abstract readonly isShared: boolean;
  /** True while the server is unreachable: every statement fails at once. */
  abstract readonly isCutOff: boolean;
  /** Called when it becomes unreachable, for callers that are waiting and have not sent a statement yet. */
  whenCutOff: () => void = () => undefined;
  /**
   * A new writing connection, configured and checked for durable commits. The caller closes the previous one.
   * @param requireSound throws unless the connection leads to what was written before: until then, nothing is read there.
   */
  abstract openWriter(requireSound: (connection: SqlConnection) => Promise<void>): Promise<SqlConnection>;
  /** Another read-only connection, for a transaction that reads. The caller closes it. */
  abstract openReader(): Promise<SqlConnection>;
  /** False if what is written now would not be found by the next start, for example because the file was removed. */
  abstract isInPlace(): boolean;
  /** False while a disk is so full that an ordinary batch would not fit, even if a single page would. */
  abstract hasRoom(): Promise<boolean>;
  /** Dead rows of a table that are kept because a reader may still hold a snapshot that includes them. */
  abstract deadRows(table: string): Promise<number>;
  /** Connection options for `@InjectRepository`: a read-only connection. */
  abstract repositoryOptions(): DataSourceOptions;
  /**
   * Those of the processes, or runners, that have ended, or have not renewed their lease for so long that they count as
   * ended.
   */
  abstract findEndedProcesses(names: readonly string[]): Promise<readonly string[]>;
  /**
   * Folds the write-ahead log into the database, and removes from it what was overwritten there since. Not within a
   * transaction. False if somebody reads it for longer.
   * @param patience milliseconds to wait for them; all writes wait, too.
   */
  abstract truncateLog(writer: SqlConnection, patience: number): Promise<boolean>;

  /** Tables that something else has replaced, or whose rows are hidden from this process. */
  replacedTables(): Promise<readonly ReplacedTable[]> {
    return replacedTables(this.chain, this.dialect, this.schema);
  }

  /**
   * Reads a single row that may be large, decoding included: one at a time for all callers. Many at once would not
   * fit in memory, and reads of small rows would wait behind them.
   */
  readAlone<Result>(read: () => Promise<Result>): Promise<Result> {
    return this.alone.run(read);
  }

  /** Closes the connections but the ledger's own, and releases the database; once, however often it is called. */
  close(): Promise<void> {
    return (this.closing ??= this.release());
  }

  protected abstract readonly schema: SchemaContribution;
  protected abstract release(): Promise<void>;
}
