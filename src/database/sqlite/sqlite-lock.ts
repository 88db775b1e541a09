import { DatabaseFault } from '../database-fault';
import { DatabaseInUseError } from '../database-in-use.error';
import type { SqlConnection } from '../sql-connection';
import type { FileDriver } from './file-driver';
import { lockedFile } from './locked-file';

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
