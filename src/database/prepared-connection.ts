import type { SqlConnection } from './sql-connection';

/** A connection that is ready for use; one that cannot be prepared is closed. */
export async function preparedConnection<Connection extends Pick<SqlConnection, 'close'>>(
  opening: Promise<Connection>,
  prepare: (connection: Connection) => Promise<void>,
): Promise<Connection> {
  const connection = await opening;
  try {
    await prepare(connection);
  } catch (error) {
    await connection.close();
    throw error;
  }
  return connection;
}
