import type { DataSourceOptions } from 'typeorm';
import type { Dialect } from './dialect';
import type { SqlConnection } from './sql-connection';

/**
 * The opened, migrated database. One connection writes and belongs to the ledger alone; the others cannot write. Point
 * reads, lists and verification each have their own, so that a slow one does not hold up the quick ones.
 */
export abstract class Database {
  abstract readonly dialect: Dialect;
  /** For people: where the records are, without a password. */
  abstract readonly location: string;
  abstract readonly points: SqlConnection;
  abstract readonly lists: SqlConnection;
  abstract readonly chain: SqlConnection;
  /** Names this process among those that write the database; it has another name after each start. */
  abstract readonly processId: string;
  /** False where no other process can write while this one runs. */
  abstract readonly isShared: boolean;
  /** True while the server is out of reach: whatever is asked fails at once. */
  abstract readonly isCutOff: boolean;
  /** For what waits and has not asked yet. */
  abstract onCutOff(listener: () => void): void;
  /** A new writing connection, set up and checked for durable commits. The caller closes the previous one. */
  abstract openWriter(): Promise<SqlConnection>;
  /**
   * A connection that writes what is not a record, such as where a delivery stands, by single statements that do no harm when they
   * run twice. A file that is locked is not waited for. The caller closes it.
   */
  abstract openSideWriter(): Promise<SqlConnection>;
  /** Another connection that cannot write, for a transaction that reads. The caller closes it. */
  abstract openReader(): Promise<SqlConnection>;
  /** False when what is written now would not be found at the next start, such as a removed file. */
  abstract isInPlace(): boolean;
  /** False while a disk is so full that an ordinary batch would not fit, even where a single page does. */
  abstract hasRoom(): Promise<boolean>;
  /** Rows of a table that are dead, and kept because somebody may still read a snapshot that has them. */
  abstract deadRows(table: string): Promise<number>;
  /** What `@InjectRepository` reads through: a connection that cannot write. */
  abstract repositoryOptions(): DataSourceOptions;
  /** Those of the processes that have ended, or have not shown for so long that they count as ended. */
  abstract endedAmong(processIds: readonly string[]): Promise<readonly string[]>;
  /** Leaves the database tidy for the next start; the last thing done on the writing connection. */
  abstract finishWriting(writer: SqlConnection): Promise<void>;
  /** Closes the reading connections and gives the database free. */
  abstract close(): Promise<void>;
}
