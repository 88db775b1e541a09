import { DatabaseFault } from '../database-fault';
import { DatabaseInUseError } from '../database-in-use.error';
import type { SqlConnection } from '../sql-connection';
import type { FileDriver } from './file-driver';

/**
 * Holds the database for this process: an exclusive transaction on a sibling file, kept open. The operating system
 * frees it when the process dies, however it dies; a file with a process id in it would not, above all in containers.
 */
export class SqliteLock {
  private constructor(private readonly connection: SqlConnection) {}

  static async take(databasePath: string, driver: FileDriver): Promise<SqliteLock> {
    const connection = await driver.open(`${databasePath}.lock`, 'create');
    try {
      await connection.run('PRAGMA busy_timeout = 0');
      await connection.run('BEGIN EXCLUSIVE');
    } catch (error) {
      await connection.close();
      if (error instanceof DatabaseFault && error.driverCode === 'SQLITE_BUSY') {
        throw new DatabaseInUseError(databasePath, 'stop that one first, or give this one a database of its own.');
      }
      throw error;
    }
    return new SqliteLock(connection);
  }

  release(): Promise<void> {
    return this.connection.close();
  }
}
