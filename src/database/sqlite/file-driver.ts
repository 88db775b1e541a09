import type { BetterSqlite3ConnectionOptions } from 'typeorm/driver/better-sqlite3/BetterSqlite3ConnectionOptions';
import type { SqliteConnectionOptions } from 'typeorm/driver/sqlite/SqliteConnectionOptions';
import type { SqlConnection } from '../sql-connection';

/** What a connection may do with a file; only `create` creates a missing one. */
export type FileUse = 'read' | 'write' | 'create';

/** Milliseconds that TypeORM's connections wait for a lock. */
export const BUSY_TIMEOUT = 2000;

/** One of the SQLite drivers. Nothing else in the service knows which one is used. */
export interface FileDriver {
  open(path: string, use: FileUse): Promise<SqlConnection>;
  /** How TypeORM opens the file, for migrations and repositories. */
  typeOrmOptions(path: string, use: FileUse): SqliteConnectionOptions | BetterSqlite3ConnectionOptions;
}
