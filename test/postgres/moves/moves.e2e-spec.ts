import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { SqliteConnection } from '../../../src/ledger/database/sqlite/sqlite-connection';
import { lockedDatabase } from '../../../src/ledger/database/sqlite/sqlite-file';
import { temporaryFolder, type TemporaryDatabase } from '../../../src/program/testing/temporary-database';
import { approve, changeHeader, FOUR_EYES, registerThree } from '../../changes/support';
import { DirectoryClient } from '../../directory/directory-client';
import { ActionsModule } from '../../support/application/actions.module';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { issueKey } from '../../support/application/factories';
import { send } from '../../support/application/send';
import { createPostgresDatabase, dropPostgresDatabase, onServer } from '../../support/database/database-server';
import { ROOT } from '../../support/documents/markdown';
import { startProgram } from '../../support/processes/started-program';
import { doEverything, EVERY_ACTION_ENVIRONMENT } from '../../support/requests/every-action';
import { MAIN, move, moveSettings } from './move-program';

const FIXTURES = join(ROOT, 'test', 'fixtures');
/** The databases of released versions, and of every schema since. */
const STORED_DATABASES = ['releases', 'schemas'].flatMap((folder) =>
  readdirSync(join(FIXTURES, folder)).flatMap((name) => (name.endsWith('.db.gz') ? [join(folder, name)] : [])),
);
const SELECT_HASHES = 'SELECT "hash" FROM "ledger_entries" ORDER BY "sequence"';
const PATIENCE = 120_000;

function digestOf(path: string): string {
  return createHash('sha256').update(readFileSync(path)).digest('hex');
}

async function hashesIn(path: string): Promise<unknown[]> {
  const connection = await SqliteConnection.open(path, 'read');
  const rows = await connection.all(SELECT_HASHES);
  await connection.close();
  return rows;
}

describe('agent-governance move', () => {
  let source: TemporaryDatabase;
  let url: string;

  beforeEach(async () => {
    source = temporaryFolder((path) => `sqlite:${path}`);
    url = await createPostgresDatabase();
  });
  afterEach(async () => {
    await source.remove();
    await dropPostgresDatabase(url);
  });

  function restoreKept(name: string): void {
    writeFileSync(source.path, gunzipSync(readFileSync(join(FIXTURES, name))));
  }

  function startOn(databaseUrl: string, more: Readonly<Record<string, string>> = {}): Promise<TestApp> {
    const environment = { ...EVERY_ACTION_ENVIRONMENT, ...moveSettings(source), ...more, DATABASE_URL: databaseUrl };
    return createTestApp({ environment, modules: [ActionsModule] });
  }

  it.each(STORED_DATABASES)(
    'moves the database %s: its entries are the same, everything is valid, and the source is as before',
    async (name) => {
      restoreKept(name);
      const before = digestOf(source.path);
      const { exitCode, output, errors } = await move(source, url);
      expect({ exitCode, errors }).toMatchObject({ exitCode: 0 });
      const [from, to] = ['source', 'target'].map(
        (end) => new RegExp(`^${end} {2}(\\d+ \\w{64})$`, 'm').exec(output)?.[1],
      );
      expect(from).toBe(to);
      expect(output).toContain('\nVALID\n');
      expect(digestOf(source.path)).toBe(before);
      expect(await onServer(SELECT_HASHES, url)).toEqual(await hashesIn(source.path));
      const app = await startOn(url);
      const { body } = await send(app, 'POST', '/api/v1/provenance/verify', { body: { state: true } });
      await app.close();
      expect(body).toMatchObject({ valid: true, invalidRecords: 0, firstInvalidDerived: [] });
    },
    PATIENCE,
  );

  it(
    'moves every kind of record with counters, list items, sums, answers to keys and files, as the source had them',
    async () => {
      const app = await startOn(`sqlite:${source.path}`);
      await doEverything(app);
      const headers = { 'Idempotency-Key': 'moved' };
      const entity = { type: 'host', name: 'moved' };
      const created = await send(app, 'POST', '/api/v1/entities', { body: entity, headers });
      await app.close();
      const derived = await derivedIn(source.path);
      const { exitCode, output, errors } = await move(source, url);
      expect({ exitCode, errors }).toMatchObject({ exitCode: 0 });
      for (const [sql, rows] of derived) expect({ sql, rows: await onServer(sql, url) }).toEqual({ sql, rows });
      const database = basename(new URL(url).pathname);
      for (const ending of ['checkpoint', 'signing-key']) {
        const [from, to] = [`${source.path}.${ending}`, join(source.folder, `${database}.${ending}`)];
        expect(output).toContain(`copied  ${from} to ${to}\n`);
        expect(readFileSync(to)).toEqual(readFileSync(from));
      }
      const moved = await startOn(url);
      const repeated = await send(moved, 'POST', '/api/v1/entities', { body: entity, headers });
      await moved.close();
      expect(repeated.body).toEqual(created.body);
    },
    PATIENCE,
  );

  it(
    'moves the groups of a directory, delegations, and changes that wait for a person',
    async () => {
      const app = await startOn(`sqlite:${source.path}`, FOUR_EYES);
      const { secret } = await issueKey(app, { scopes: ['directory'] });
      const directory = new DirectoryClient(app, secret);
      const groupId = await directory.addGroup('Approvers', [await directory.addUser('dora')]);
      const { ada, ben, cyd } = await registerThree(app);
      const until = new Date(Date.now() + 3_600_000).toISOString();
      const sent = { key: ada.key, body: { to: ben.id, until } };
      const { body: delegation } = await send(app, 'POST', `/api/v1/agents/${ada.id}/delegations`, sent);
      const request = { key: cyd.key, body: { name: 'waiting', capabilities: [] } };
      const { body: decision } = await send(app, 'POST', '/api/v1/agents', request);
      const { text: group } = await directory.send('GET', `Groups/${groupId}`);
      await app.close();
      expect((await move(source, url)).exitCode).toBe(0);

      const moved = await startOn(url, FOUR_EYES);
      expect((await new DirectoryClient(moved, secret).send('GET', `Groups/${groupId}`)).text).toBe(group);
      const delegated = await send(moved, 'GET', `/api/v1/agents/${ada.id}/delegations/${delegation.id}`);
      expect(delegated.body).toEqual(delegation);
      expect((await approve(moved, decision.id, ada)).status).toBe(200);
      const made = await send(moved, 'POST', '/api/v1/agents', { ...request, ...changeHeader(decision.id) });
      await moved.close();
      expect([made.status, made.body.name]).toEqual([201, 'waiting']);
    },
    PATIENCE,
  );

  /** Derived rows by the statements that read them; numbers as a PostgreSQL client without types reads them. */
  async function derivedIn(path: string): Promise<[sql: string, rows: unknown[]][]> {
    const statements = [
      `SELECT "name", CAST("value" AS text) AS "value" FROM "ledger_counters" WHERE "value" <> 0 ORDER BY "name" COLLATE "C"`,
      `SELECT "item", "recordId" FROM "ledger_list_items" ORDER BY "item" COLLATE "C", "recordId" COLLATE "C"`,
      `SELECT "sum", "window", "key", "value" FROM "ledger_sums" ORDER BY "sum" COLLATE "C", "window" COLLATE "C", "key" COLLATE "C"`,
      `SELECT "level", "hash" FROM "ledger_tree_nodes" ORDER BY "level", "position"`,
      `SELECT "frontier", "lastUlid", "timestamp" FROM "ledger_head"`,
    ];
    const connection = await SqliteConnection.open(path, 'read');
    const read = await Promise.all(
      statements.map(async (sql): Promise<[string, unknown[]]> => [
        sql,
        await connection.all(sql.replaceAll(' COLLATE "C"', '')),
      ]),
    );
    await connection.close();
    return read;
  }

  describe('of an older database', () => {
    beforeEach(() => restoreKept(STORED_DATABASES[0] ?? ''));

    it('refuses a target that is not empty, and leaves it as it was', async () => {
      await onServer('CREATE TABLE "notes" ("text" text)', url);
      for (const options of [[], ['--again']]) {
        const { exitCode, errors } = await move(source, url, ...options);
        expect([exitCode, errors]).toEqual([
          2,
          expect.stringMatching(/ is not empty: it has notes\. Name an empty database\.\n$/),
        ]);
      }
      const tables = await onServer(`SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace`, url);
      expect(tables).toEqual([{ relname: 'notes' }]);
    });

    it('refuses a source that is in use', async () => {
      const lock = await lockedDatabase(source.path);
      const { exitCode, errors } = await move(source, url);
      await lock.close();
      expect([exitCode, errors]).toEqual([75, expect.stringContaining('is in use by another process')]);
    });

    it('refuses to replace a file next to the target', async () => {
      const name = basename(new URL(url).pathname);
      writeFileSync(`${source.path}.erasures`, 'entity ent_1\n');
      writeFileSync(join(source.folder, `${name}.erasures`), 'entity ent_2\n');
      const { exitCode, errors } = await move(source, url);
      expect([exitCode, errors]).toEqual([
        2,
        `There is another file ${join(source.folder, `${name}.erasures`)}. Move it away first.\n`,
      ]);
      expect(await onServer(`SELECT 1 FROM pg_class WHERE relnamespace = 'public'::regnamespace`, url)).toEqual([]);
    });

    it('reports an entry that was altered in the source, and leaves a target on which nothing starts', async () => {
      const connection = await SqliteConnection.open(source.path, 'write');
      await connection.run(`UPDATE "ledger_entries" SET "reason" = 'another' WHERE "sequence" = 5`);
      await connection.close();
      const { exitCode, errors } = await move(source, url);
      expect([exitCode, errors]).toEqual([1, expect.stringMatching(/^FAULT The chain has .* first at entry 5\.$/m)]);
      const settings = { ...moveSettings(source), DATABASE_URL: url };
      const ended = await startProgram(MAIN, settings).catch((error: unknown) => error);
      expect(ended).toMatchObject({ exitCode: 65, printed: expect.stringContaining('is not complete: the move of') });
      // Once the fault is gone, it can be moved again.
      restoreKept(STORED_DATABASES[0] ?? '');
      expect(await move(source, url)).toMatchObject({ exitCode: 2, errors: expect.stringContaining('--again drops') });
      expect(await move(source, url, '--again')).toMatchObject({ exitCode: 0 });
    });
  });

  it.each([
    ['without a target', [], /^Usage: agent-governance move --to /],
    ['with a file as target', ['--to', 'sqlite:x.db'], /^--to must be the URL of a PostgreSQL database/],
    ['with a target that names no database', ['--to', 'postgres://u@h'], /it names no database after the host/],
    ['with another option', ['--to', 'postgres://u@h/d', '--force'], /^Usage: /],
  ])('%s is a misuse', async (_how, options, message) => {
    const folder = mkdtempSync(join(tmpdir(), 'move-misuse-'));
    const target = options[1] ?? '';
    const { exitCode, errors } = await move({ path: join(folder, 'x.db'), folder }, target, ...options.slice(2));
    rmSync(folder, { recursive: true });
    expect([exitCode, errors]).toEqual([2, expect.stringMatching(message)]);
  });
});
