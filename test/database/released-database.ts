import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { SqliteConnection } from '../../src/ledger/database/sqlite/sqlite-connection';
import { onPostgres } from '../support/database/database-kind';
import { onServer } from '../support/database/database-server';
import { ROOT } from '../support/documents/markdown';
import { temporaryDatabase, type TemporaryDatabase } from '../support/database/temporary-database';

const FOLDER = join(ROOT, 'test', 'fixtures', 'releases');
const ENDING = onPostgres ? '.sql' : '.db.gz';

/** The versions with a database in the fixtures. */
export const RELEASED_VERSIONS = readdirSync(FOLDER)
  .filter((name) => name.endsWith(ENDING))
  .map((name) => name.slice(0, -ENDING.length));

export interface ReleasedDatabase extends TemporaryDatabase {
  /** The hashes of the entries that this version wrote, in order. */
  readonly hashes: readonly string[];
}

const SELECT_HASHES = 'SELECT hash FROM ledger_entries ORDER BY sequence';

/** A copy of the database that the given version left behind: see scripts/write-release-fixture.mjs. */
export async function releasedDatabase(version: string): Promise<ReleasedDatabase> {
  const database = await temporaryDatabase();
  const archive = readFileSync(join(FOLDER, version + ENDING));
  const rows = onPostgres
    ? await restored(archive.toString('utf8'), database.environment.DATABASE_URL)
    : await unpacked(gunzipSync(archive), database.path);
  return { ...database, hashes: rows.map(({ hash }) => String(hash)) };
}

async function restored(dump: string, url: string): Promise<Record<string, unknown>[]> {
  await onServer(dump, url);
  return onServer(SELECT_HASHES, url);
}

async function unpacked(file: Buffer, path: string): Promise<Record<string, unknown>[]> {
  writeFileSync(path, file);
  const connection = await SqliteConnection.open(path, 'write');
  try {
    return await connection.all(SELECT_HASHES);
  } finally {
    await connection.close();
  }
}
