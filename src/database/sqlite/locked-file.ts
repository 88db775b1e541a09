import { makePrivateFile } from '../../files/private-file';
import type { SqlConnection } from '../sql-connection';
import type { FileDriver } from './file-driver';

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
