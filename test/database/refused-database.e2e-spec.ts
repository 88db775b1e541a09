import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { API_KEY } from '../support/application/api-key';
import { createTestApp } from '../support/application/create-test-app';
import { onPostgres } from '../support/database/database-kind';
import { onServer } from '../support/database/database-server';
import { createEntity } from '../support/application/factories';
import { ROOT } from '../support/documents/markdown';
import { RELEASED_VERSIONS, releasedDatabase } from './released-database';
import { send } from '../support/application/send';
import { run } from '../support/processes/shell';
import { postgresSettings } from '../../src/program/testing/test-api-key';
import { temporaryDatabase, type TemporaryDatabase } from '../support/database/temporary-database';

const MAIN = join(ROOT, 'dist', 'main.js');
const SELECT_SCHEMA = `SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public' ORDER BY 1, 2`;

/** Returns what a migration could change: the columns, or on SQLite a hash of the file; null without a file. */
async function contentOf({ path, environment }: TemporaryDatabase): Promise<unknown> {
  if (onPostgres) return onServer(SELECT_SCHEMA, environment.DATABASE_URL);
  return existsSync(path) ? createHash('sha256').update(readFileSync(path)).digest('hex') : null;
}

/** A checkpoint of a longer log than any other here. */
async function longCheckpoint(): Promise<string> {
  const app = await createTestApp();
  for (let made = 0; made < 300; made += 30) {
    await Promise.all(Array.from({ length: 30 }, () => createEntity(app)));
  }
  const { checkpoint } = (await send(app, 'GET', '/api/v1/provenance/checkpoint')).body;
  await app.close();
  return checkpoint;
}

/** Writes it to where the service keeps that of the database. */
function keepCheckpoint(checkpoint: string, { folder, environment }: TemporaryDatabase): void {
  const name = onPostgres ? new URL(environment.DATABASE_URL).pathname.slice(1) : 'governance.db';
  writeFileSync(join(folder, `${name}.checkpoint`), checkpoint);
}

async function refusal({ folder, environment }: TemporaryDatabase): Promise<string> {
  const variables = { NODE_ENV: '', API_KEY, PORT: '0', ...postgresSettings(environment), ...environment };
  const { exitCode, output, errors } = await run(process.execPath, [MAIN], { folder, environment: variables });
  expect([exitCode, output]).toEqual([65, '']);
  return errors;
}

describe('A start that refuses a database because of its checkpoint leaves it as it was', () => {
  let checkpoint: string;

  beforeAll(async () => {
    checkpoint = await longCheckpoint();
  });

  it.each(RELEASED_VERSIONS)('when it is of version %s and would have to be migrated', async (version) => {
    const database = await releasedDatabase(version);
    try {
      keepCheckpoint(checkpoint, database);
      const before = await contentOf(database);
      const message = await refusal(database);
      expect(message).toContain(`ends at entry ${database.hashes.length}, before the checkpoint's 300`);
      expect(await contentOf(database)).toEqual(before);
      const [name = ''] = /(?<=ACCEPT_RESTORED_DATABASE=)300:[0-9a-f]{16}/.exec(message) ?? [];
      const app = await createTestApp({ environment: { ...database.environment, ACCEPT_RESTORED_DATABASE: name } });
      expect((await send(app, 'GET', '/api/v1/audit?action=ledger.restored')).body.total).toBe(1);
      await app.close();
      expect(await contentOf(database)).not.toEqual(before);
    } finally {
      await database.remove();
    }
  });

  it('and creates none when there is none', async () => {
    const database = await temporaryDatabase();
    try {
      keepCheckpoint(checkpoint, database);
      const before = await contentOf(database);
      expect(await refusal(database)).toContain(`ends at entry 0, before the checkpoint's 300`);
      expect(await contentOf(database)).toEqual(before);
    } finally {
      await database.remove();
    }
  });
});
