import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { ActionsModule } from '../support/application/actions.module';
import { createTestApp } from '../support/application/create-test-app';
import { chainIsValid, createEntity } from '../support/application/factories';
import { TEST_SECRET_KEY } from '../../src/program/testing/test-api-key';
import { temporaryDatabase } from '../support/database/temporary-database';
import { ROOT } from '../support/documents/markdown';
import { schemaOf } from './schema-of';

const FOLDER = join(ROOT, 'test', 'fixtures', 'schemas');
const VERSIONS = readdirSync(FOLDER).flatMap((name) => /^(\d{13})\.db\.gz$/.exec(name)?.[1] ?? []);

/** The migrations of the service without the first, of which the fixtures have a released database. */
function migrations(): string[] {
  const files = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' });
  const texts = files.filter((path) => path.endsWith('.migration.ts')).map((path) => join(ROOT, 'src', path));
  const numbers = texts.flatMap((path) => [...readFileSync(path, 'utf8').matchAll(/class \w*?(\d{13}) /g)]);
  // Migrations that come together have one number.
  return [...new Set(numbers.map(([, number = '']) => number))].sort().slice(1);
}

it('A database of every migration but the newest is kept', () => {
  expect(
    migrations()
      .slice(0, -1)
      .filter((number) => !VERSIONS.includes(number)),
  ).toEqual([]);
});

it.each(VERSIONS)(
  'A database of the schema %s, which main has written, opens and gets the schema of a new one: migrations are only added',
  async (version) => {
    const [old, empty] = [await temporaryDatabase(), await temporaryDatabase()];
    writeFileSync(old.path, gunzipSync(readFileSync(join(FOLDER, `${version}.db.gz`))));
    // Databases that were kept since secrets are replaced have the key of tests.
    const SECRET_KEY = TEST_SECRET_KEY;
    const [opened, made] = [
      await createTestApp({ environment: { ...old.environment, SECRET_KEY }, modules: [ActionsModule] }),
      await createTestApp({ environment: empty.environment, modules: [ActionsModule] }),
    ];
    expect(await schemaOf(opened)).toEqual(await schemaOf(made));
    await createEntity(opened);
    await chainIsValid(opened);
    await Promise.all([opened.close(), made.close()]);
    await Promise.all([old.remove(), empty.remove()]);
  },
);
