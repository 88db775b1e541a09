import { makePrivateFile } from '../../shared/private-file';
import type { SqlConnection } from '../sql-connection';
import type { FileDriver } from './file-driver';
import { DatabaseFault } from '../database-fault';
import { DatabaseInUseError } from '../database-in-use.error';

/**
 * Holds a file for this process until the connection is closed: an exclusive transaction on it, kept open. The operating
 * system frees it when the process dies, however it dies; a file with a process id in it would not, above all in containers.
 * @param patience milliseconds to wait for another process
 */
export async function lockedFile(path: string, driver: FileDriver, patience: number): Promise<SqlConnection> {
  makePrivateFile(path);
  const connection = await driver.open(path, 'create');
  try {
    await connection.run(`PRAGMA busy_timeout = ${patience}`);
    await connection.run('BEGIN EXCLUSIVE');
    return connection;
  } catch (error) {
    await connection.close();
    throw error;
  }
}

/** Holds the database for this process, by a sibling file. */
export class SqliteLock {
  private constructor(private readonly connection: SqlConnection) {}

  static async take(databasePath: string, driver: FileDriver): Promise<SqliteLock> {
    try {
      return new SqliteLock(await lockedFile(`${databasePath}.lock`, driver, 0));
    } catch (error) {
      if (error instanceof DatabaseFault && error.driverCode === 'SQLITE_BUSY') {
        throw new DatabaseInUseError(databasePath, 'stop that one first, or give this one a database of its own.');
      }
      throw error;
    }
  }

  release(): Promise<void> {
    return this.connection.close();
  }
}
