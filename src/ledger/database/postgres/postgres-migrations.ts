import { Logger } from '@nestjs/common';
import type { Client } from 'pg';
import { DataSource } from 'typeorm';
import type { SchemaContribution } from '../start-condition';
import type { SqlConnection } from '../sql-connection';
import { PostgresConnection } from './postgres-connection';
import { LIFT_TIMEOUTS, migrationConfig } from './postgres-settings';
import { requireDurability, requirePrimary } from './writer-server';

/** Key of the advisory lock: any number that no other program in the same database uses. */
const MIGRATION_LOCK = 7_463_001_200;

/** Selects the text columns of a table that are not compared by bytes. */
const SELECT_OTHER_TEXT = `SELECT attname AS "name" FROM pg_attribute
  WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped
  AND atttypid = 'text'::regtype AND attcollation <> 'pg_catalog."C"'::regcollation`;

/** Milliseconds for which a start waits for other sessions before it logs that it waits. */
const QUIET_WAIT_MS = 5_000;

/** A check that runs before the migrations; throwing aborts the start. */
type Check = (connection: SqlConnection) => Promise<void>;

/** Runs missing migrations. If several processes start at once, one migrates and the others wait for it. */
export async function migrate(url: string, schema: SchemaContribution, check: Check): Promise<void> {
  const lock = await PostgresConnection.open(migrationConfig(url));
  try {
    await Promise.all([requirePrimary(lock), requireDurability(lock)]);
    await lock.run(LIFT_TIMEOUTS);
    // Migrating a large database may take another process any time.
    await lock.run('SET lock_timeout = 0');
    const report = reportWait(await lock.serverProcess());
    try {
      await lock.run('SELECT pg_advisory_lock($1::bigint)', [MIGRATION_LOCK]);
      await check(lock);
    } finally {
      clearTimeout(report);
    }
    await runMigrations(url, schema);
    if (lock.isLost) throw new Error('The session that holds the lock of migrations was lost. Start again.');
  } finally {
    // Ending the session releases the lock.
    await lock.close();
  }
}

/** @param pid server process of the waiting session; the wait may have no end */
function reportWait(pid: number): NodeJS.Timeout {
  return setTimeout(() => {
    new Logger('Database').warn(
      'The start waits for another process, which migrates or writes. To see which: SELECT * FROM pg_stat_activity ' +
        `WHERE pid = ANY(pg_blocking_pids(${pid})). If it is not at work any more: SELECT pg_terminate_backend(pid).`,
    );
  }, QUIET_WAIT_MS);
}

async function runMigrations(url: string, schema: SchemaContribution): Promise<void> {
  const dataSource = new DataSource({
    type: 'postgres',
    extra: { ...migrationConfig(url), onConnect: (client: Client) => client.query(LIFT_TIMEOUTS) },
    entities: [...schema.tables],
    migrations: [...schema.migrations],
    migrationsTransactionMode: 'each',
  });
  await dataSource.initialize();
  try {
    await dataSource.runMigrations();
    await compareTextByBytes(dataSource);
  } finally {
    await dataSource.destroy();
  }
}

/**
 * Makes every text column compare by bytes, as in SQLite, whatever the database's locale: sort orders are the same
 * everywhere, and an update of the system's collations cannot corrupt an index.
 */
async function compareTextByBytes(dataSource: DataSource): Promise<void> {
  await dataSource.transaction(async (manager) => {
    for (const { tableName } of dataSource.entityMetadatas) {
      const columns = await manager.query<{ name: string }[]>(SELECT_OTHER_TEXT, [`"${tableName}"`]);
      if (columns.length === 0) continue;
      const changes = columns.map(({ name }) => `ALTER COLUMN "${name}" TYPE text COLLATE "C"`);
      await manager.query(`ALTER TABLE "${tableName}" ${changes.join(', ')}`);
    }
  });
}
