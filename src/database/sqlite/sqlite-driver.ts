import * as sqlite3 from 'sqlite3';

/**
 * The only place that names the SQLite driver. TypeORM calls `verbose()`, which makes every statement in the process
 * create an error with its parameters in the stack: slow, and a leak. So it gets a driver whose `verbose` does nothing.
 */
export const sqliteDriver = { ...sqlite3, verbose: (): typeof sqlite3 => sqlite3 };

export const { OPEN_CREATE, OPEN_READONLY, OPEN_READWRITE, Database } = sqlite3;

export type SqliteHandle = sqlite3.Database;
export type SqliteStatement = sqlite3.Statement;
