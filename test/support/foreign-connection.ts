import { Configuration } from '../../src/config/configuration';
import { Database } from '../../src/database/database';
import { PostgresConnection } from '../../src/database/postgres/postgres-connection';
import { serverConfig } from '../../src/database/postgres/postgres-settings';
import { SqliteConnection } from '../../src/database/sqlite/sqlite-connection';
import { OPEN_READWRITE } from '../../src/database/sqlite/sqlite-driver';
import type { SqlConnection } from '../../src/database/sql-connection';
import type { TestApp } from './create-test-app';

/** A connection of somebody else to the database of a running application: it can write what the ledger never would. */
export function foreignConnection({ application }: TestApp): Promise<SqlConnection> {
  const { database } = application.get(Configuration);
  return database.kind === 'postgres'
    ? PostgresConnection.open(serverConfig(database.url))
    : SqliteConnection.open(application.get(Database).location, OPEN_READWRITE);
}
