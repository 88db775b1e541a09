import type { DataSourceOptions } from 'typeorm';
import { SerialQueue } from '../../core/concurrency/serial-queue';
import type { Dialect } from './dialect';
import { type ReplacedTable, replacedTables } from './found-tables';
import type { SqlConnection, SqlSessions } from './sql-connection';
import type { SchemaContribution } from './start-condition';

/**
 * The opened, migrated database. One connection writes records and belongs to the ledger alone. Point reads, lists and
 * verification each have a read-only connection, so that slow reads do not hold up quick ones.
 */
export abstract class Database {
  private closing: Promise<void> | null = null;
  private readonly alone = new SerialQueue();
  abstract readonly dialect: Dialect;
  /** Location of the records for messages, without a password. */
  abstract readonly location: string;
  abstract readonly points: SqlSessions;
  abstract readonly lists: SqlSessions;
  abstract readonly chain: SqlSessions;
  /** Writes data that is not a record, such as the progress of a delivery, by single idempotent statements. */
  abstract readonly sideConnection: SqlSessions;
  /** Identifies this process among those that write the database; it changes with every start. */
  abstract readonly processId: string;
  /**
   * Name under which this process begins executions. It changes after the lease has lapsed, because other processes may
   * then mark executions of the old name as interrupted. Null while the lease may have lapsed: no execution can begin.
   */
  abstract readonly runner: string | null;
  /** False if no other process can write while this one runs. */
  abstract readonly isShared: boolean;
  /** True while the server is unreachable: every statement fails at once. */
  abstract readonly isCutOff: boolean;
  /** Called when the server becomes unreachable, for callers that wait and have not sent a statement yet. */
  whenCutOff: () => void = () => undefined;
  /**
   * Opens a writing connection, configured and checked for durable commits. The caller closes the previous one.
   * @param requireSound throws if the connection does not lead to the data written before; nothing is read until it
   * returns
   */
  abstract openWriter(requireSound: (connection: SqlConnection) => Promise<void>): Promise<SqlConnection>;
  /** Opens a read-only connection for a transaction that reads. The caller closes it. */
  abstract openReader(): Promise<SqlConnection>;
  /** False if the next start would not find what is written now, for example because the file was removed. */
  abstract isInPlace(): boolean;
  /** False while a disk is so full that an ordinary batch would not fit, even if a single page would. */
  abstract hasRoom(): Promise<boolean>;
  /** Counts the dead rows of a table that remain because a reader may still hold a snapshot that includes them. */
  abstract deadRows(table: string): Promise<number>;
  /** Connection options for `@InjectRepository`: a read-only connection. */
  abstract repositoryOptions(): DataSourceOptions;
  /**
   * Returns the names of processes, or runners, that have ended, or that count as ended because they have not renewed
   * their lease for too long.
   */
  abstract findEndedProcesses(names: readonly string[]): Promise<readonly string[]>;
  /**
   * Folds the write-ahead log into the database and empties it of overwritten contents. Not within a transaction.
   * Returns false if readers hold it for longer.
   * @param patience milliseconds to wait for readers; all writes wait, too
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

  /** Closes all connections except the ledger's own, and releases the database. Repeated calls do this once. */
  close(): Promise<void> {
    return (this.closing ??= this.release());
  }

  protected abstract readonly schema: SchemaContribution;
  protected abstract release(): Promise<void>;
}
