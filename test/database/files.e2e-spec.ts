import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { describeOnSqlite, onPostgres } from '../support/database/database-kind';
import { createEntity } from '../support/application/factories';
import { temporaryDatabase, type TemporaryDatabase } from '../support/database/temporary-database';

const PERMISSIONS = 0o777;

function permissions(path: string): string {
  return (statSync(path).mode & PERMISSIONS).toString(8);
}

/** The permissions of each file in the folder, by name. */
function permissionsIn(folder: string): Record<string, string> {
  return Object.fromEntries(readdirSync(folder).map((name) => [name, permissions(join(folder, name))]));
}

describe('Files of the service', () => {
  let root: string;
  let database: TemporaryDatabase;
  let previousMask: number;
  let logged: string[];

  beforeEach(async () => {
    root = mkdtempSync(join(tmpdir(), 'governance-files-'));
    database = await temporaryDatabase();
    // Whatever the umask would permit to others.
    previousMask = process.umask(0);
    logged = [];
  });
  afterEach(async () => {
    process.umask(previousMask);
    rmSync(root, { recursive: true, force: true });
    await database.remove();
  });

  /** Keeps all files in a folder of the test, given as a path below its root. */
  function start(folder: string): Promise<TestApp> {
    const path = join(root, folder);
    const places = { DATABASE_URL: `sqlite:${join(path, 'governance.db')}`, CHECKPOINT_FOLDER: path };
    const environment = onPostgres ? { ...database.environment, CHECKPOINT_FOLDER: path } : places;
    return createTestApp({ environment, logStream: { write: (line) => logged.push(line) } });
  }

  const warnings = (): string[] => logged.filter((line) => /"level":("warn"|40)/.test(line));

  it('are accessible to their owner only, and so are their folders, with any umask', async () => {
    const app = await start('new/inner');
    await createEntity(app);
    const made = permissionsIn(join(root, 'new', 'inner'));
    await app.close();
    const lastPermissions = permissionsIn(join(root, 'new', 'inner'));
    const names = Object.keys({ ...made, ...lastPermissions }).map((name) => name.replace(/^.*\.(?=\w)/, ''));
    const ofSqlite = ['db', 'db-shm', 'db-wal', 'lock', 'lock-journal', 'secret-key'];
    expect(names.sort()).toEqual([...(onPostgres ? ['lock'] : ofSqlite), 'checkpoint', 'signing-key'].sort());
    expect(new Set(Object.values({ ...made, ...lastPermissions }))).toEqual(new Set(['600']));
    expect([permissions(join(root, 'new')), permissions(join(root, 'new', 'inner'))]).toEqual(['700', '700']);
    expect(warnings()).toEqual([]);
  });

  it.each([
    ['755', 0],
    ['750', 0],
    ['775', 1],
    ['757', 1],
    ['1777', 1],
  ])('leave a folder of %s as it is, with so many warnings: %i', async (mode, times) => {
    const folder = join(root, 'there');
    mkdirSync(folder);
    chmodSync(folder, Number.parseInt(mode, 8));
    const app = await start('there');
    await app.close();
    expect((statSync(folder).mode & 0o7777).toString(8)).toBe(mode);
    expect(warnings()).toHaveLength(times);
    for (const warning of warnings()) expect(warning).toMatch(new RegExp(`${folder}.*chmod`));
  });

  it('that were accessible to others are restricted, which is reported for keys', async () => {
    await (await start('there')).close();
    const folder = join(root, 'there');
    for (const name of readdirSync(folder)) chmodSync(join(folder, name), 0o666);
    const app = await start('there');
    await createEntity(app);
    expect(new Set(Object.values(permissionsIn(folder)))).toEqual(new Set(['600']));
    await app.close();
    const keys = onPostgres ? ['signing'] : ['secret', 'signing'];
    expect(warnings()).toEqual(keys.map((key) => expect.stringContaining(`could read the ${key} key`)));
  });

  describeOnSqlite('of SQLite', () => {
    it('are restricted even if a crash left a write-ahead log', async () => {
      await (await start('there')).close();
      const path = join(root, 'there', 'governance.db');
      for (const name of [path, `${path}-wal`, `${path}-shm`]) {
        if (!existsSync(name)) writeFileSync(name, '');
        chmodSync(name, 0o644);
      }
      const app = await start('there');
      expect(new Set(Object.values(permissionsIn(dirname(path))))).toEqual(new Set(['600']));
      await app.close();
    });
  });
});
