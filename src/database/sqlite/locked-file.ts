import { makePrivateFile } from '../../shared/private-file';
import type { SqlConnection } from '../sql-connection';
import type { FileDriver } from './file-driver';
import { DatabaseFault } from '../database-fault';
import { DatabaseInUseError } from '../database-in-use.error';
import { preparedConnection } from '../prepared-connection';

/**
 * Locks a file for this process until the connection is closed, with an exclusive transaction that is kept open. The
 * operating system releases it however the process dies; a file with a process id would not be released, above all in
 * containers.
 * @param patience milliseconds to wait for another process
 */
export async function lockedFile(path: string, driver: FileDriver, patience: number): Promise<SqlConnection> {
  makePrivateFile(path);
  return preparedConnection(driver.open(path, 'create'), async (connection) => {
    await connection.run(`PRAGMA busy_timeout = ${patience}`);
    await connection.run('BEGIN EXCLUSIVE');
  });
}

/** Locks the database for this process, by means of a sibling file. */
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
