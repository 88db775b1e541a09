import { Configuration } from '../../../src/core/config/configuration';
import { Database } from '../../../src/ledger/database/database';
import { PostgresConnection } from '../../../src/ledger/database/postgres/postgres-connection';
import { serverConfig } from '../../../src/ledger/database/postgres/postgres-settings';
import { SqliteConnection } from '../../../src/ledger/database/sqlite/sqlite-connection';
import type { SqlConnection } from '../../../src/ledger/database/sql-connection';
import type { TestApp } from '../application/create-test-app';

/** A foreign connection to the database of a running application: it can write what the ledger never would. */
export function foreignConnection({ application }: TestApp): Promise<SqlConnection> {
  const { database } = application.get(Configuration);
  if (database.kind === 'postgres') return PostgresConnection.open(serverConfig(database.url));
  return SqliteConnection.open(application.get(Database).location, 'write');
}
