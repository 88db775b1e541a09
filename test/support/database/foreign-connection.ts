import { Configuration } from '../../../src/config/configuration';
import { Database } from '../../../src/database/database';
import { PostgresConnection } from '../../../src/database/postgres/postgres-connection';
import { serverConfig } from '../../../src/database/postgres/postgres-settings';
import { loadBetterSqlite3 } from '../../../src/database/sqlite/better-sqlite3-file-driver';
import { SQLITE3 } from '../../../src/database/sqlite/sqlite3-file-driver';
import type { SqlConnection } from '../../../src/database/sql-connection';
import type { TestApp } from '../application/create-test-app';

/** A foreign connection to the database of a running application: it can write what the ledger never would. */
export function foreignConnection({ application }: TestApp): Promise<SqlConnection> {
  const { database, databaseDriver } = application.get(Configuration);
  if (database.kind === 'postgres') return PostgresConnection.open(serverConfig(database.url));
  // Two builds of SQLite in one process do not see each other's locks.
  const driver = databaseDriver === 'sqlite3' ? SQLITE3 : loadBetterSqlite3();
  return driver.open(application.get(Database).location, 'write');
}
