import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Database } from '../../src/ledger/database/database';
import { SqliteConnection } from '../../src/ledger/database/sqlite/sqlite-connection';
import { ActionsModule } from '../support/application/actions.module';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { describeOnSqlite } from '../support/database/database-kind';
import { doEverything, EVERY_ACTION_ENVIRONMENT } from '../support/requests/every-action';
import { createEntity } from '../support/application/factories';
import { foreignConnection } from '../support/database/foreign-connection';
import { runVerifier } from '../support/processes/run-verifier';
import { send } from '../support/application/send';

/** Every action was made with the operator's key. */
const UNBOUND = expect.stringMatching(/^\d+ reviews were sent with a key that is bound to nobody/);

describeOnSqlite('The offline verifier on a database', () => {
  let app: TestApp;
  let folder: string;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'verifier-test-'));
    app = await createTestApp({ modules: [ActionsModule], environment: EVERY_ACTION_ENVIRONMENT });
    await doEverything(app);
    await createEntity(app, { properties: { 'é"\\': [1e21, -0, 'a:b', {}], constructor: null } });
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true });
    await app.close();
  });

  it('finds it valid while the service runs and writes, and does not touch it', async () => {
    const { location } = app.application.get(Database);
    const writing = Array.from({ length: 120 }, () => createEntity(app));
    const { exitCode, output } = await runVerifier([location, '--json']);
    await Promise.all(writing);
    expect([exitCode, JSON.parse(output)]).toMatchObject([0, { valid: true, faults: 0, notes: [UNBOUND] }]);
    const { records } = JSON.parse((await runVerifier([location, '--json'])).output);
    const { body } = await send(app, 'POST', '/api/v1/provenance/verify', { body: { state: true } });
    expect(body).toMatchObject({ valid: true, recordsVerified: records });
  });

  /** A copy of the database that somebody changed. */
  async function altered(...statements: readonly string[]): Promise<string> {
    const path = join(mkdtempSync(join(folder, 'altered-')), 'governance.db');
    const foreign = await foreignConnection(app);
    await foreign.run('VACUUM INTO $1', [path]);
    await foreign.close();
    const copy = await SqliteConnection.open(path, 'write');
    for (const statement of statements) await copy.run(statement);
    await copy.close();
    return path;
  }

  async function faultsIn(path: string): Promise<string[]> {
    const { firstFaults } = JSON.parse((await runVerifier([path, '--json'])).output);
    return firstFaults.map(({ layer, fault }: Record<string, string>) => `${layer}: ${fault}`);
  }

  it.each([
    ['"constructor":null', '"constructor":1e400'],
    ['1e+21', '1000000000000000000001'],
  ])('finds %s of a record written as %s', async (before, after) => {
    const path = await altered(`UPDATE entities SET properties = replace(properties, '${before}', '${after}')`);
    expect(await faultsIn(path)).toEqual(['records: it is not as its last entry left it']);
    expect(await faultsIn(await altered())).toEqual([]);
  });

  it.each(['9007199254740993', '9223372036854775807', '-9223372036854775808', '0', `'x'`])(
    'finds an entry with the sequence %s',
    async (sequence) => {
      const path = await altered(
        ...added('ledger_entries', `sequence = ${sequence}, id = 'x', "auditId" = 'x', "subjectId" = 'x'`),
      );
      expect(await faultsIn(path)).toEqual(['chain: 1 have a sequence outside 1 to 2^53 - 1']);
    },
  );

  it.each(['9007199254740993', '9223372036854775807', '-9223372036854775808'])(
    'reads records with the row id %s',
    async (row) => {
      const moved = `UPDATE entities SET rowid = ${row} WHERE id = (SELECT max(id) FROM entities)`;
      expect(await faultsIn(await altered(moved))).toEqual([]);
      const path = await altered(
        ...added('entities', `id = 'x', "createdSequence" = 0`),
        `UPDATE entities SET rowid = ${row} WHERE id = 'x'`,
      );
      expect(await faultsIn(path)).toEqual(['records: no entry made it']);
    },
  );

  it.each([
    ['no UTF-8', `CAST(x'7aff' AS TEXT)`, 'no entry made it'],
    ['empty', `''`, 'no entry made it'],
    ['bytes', `x'7a'`, 'its id is not text'],
  ])('finds a record whose id is %s', async (_what, id, fault) => {
    expect(await faultsIn(await altered(...added('entities', `id = ${id}, "createdSequence" = 0`)))).toEqual([
      `records: ${fault}`,
    ]);
  });

  it('finds a duplicate record, in a table altered to allow it', async () => {
    const path = await altered(
      'CREATE TABLE others AS SELECT * FROM entities',
      'DROP TABLE entities',
      'ALTER TABLE others RENAME TO entities',
      ...added('entities', `name = 'other'`),
    );
    expect(await faultsIn(path)).toEqual(Array(2).fill('records: its id is there twice'));
  });

  it('finds that the table of a kind is gone, unless it never had records', async () => {
    const gone = await runVerifier([await altered('DROP TABLE policies')]);
    expect(gone).toMatchObject({
      exitCode: 1,
      output: expect.stringMatching(/FAULT records: policy pol_\w+: is missing/),
    });
    const path = await altered('DROP TABLE entities', 'DROP TABLE claims');
    expect(await runVerifier([path])).toMatchObject({
      exitCode: 1,
      output: expect.stringMatching(/entity ent_\w+: is missing/),
    });
    // As in a database of a version before this kind.
    expect(await runVerifier([await altered('DROP TABLE restorations')])).toMatchObject({ exitCode: 0 });
  });

  it('finds that the table with the tree is gone', async () => {
    expect(await faultsIn(await altered('DROP TABLE ledger_tree_nodes'))).toEqual(['tree: is missing']);
  });

  it.each([
    ['policies', 'records'],
    ['restorations', 'records'],
    ['ledger_entries', 'chain'],
    ['ledger_head', 'head'],
    ['ledger_tree_nodes', 'tree'],
    ['ledger_leftovers', 'records'],
  ])('finds that %s became a view, even of the same rows', async (table, layer) => {
    const hidden = [`ALTER TABLE ${table} RENAME TO hidden`, `CREATE VIEW ${table} AS SELECT * FROM hidden`];
    expect(await faultsIn(await altered(...hidden))).toContain(`${layer}: is not an ordinary table (view)`);
  });

  it.each([
    ['in capitals', ['ALTER TABLE policies RENAME TO hidden', 'CREATE VIEW POLICIES AS SELECT * FROM hidden'], 'view'],
    [
      'virtual',
      ['ALTER TABLE policies RENAME TO hidden', 'CREATE VIRTUAL TABLE policies USING rtree(id, low, high)'],
      'virtual',
    ],
    [
      'in a file that answers the question itself',
      [
        ...['ALTER TABLE policies RENAME TO hidden', 'CREATE VIEW policies AS SELECT * FROM hidden'],
        `CREATE VIEW pragma_table_list AS SELECT 'main' AS "schema", "name", 'table' AS "type" FROM sqlite_schema`,
      ],
      'view',
    ],
  ])('finds what is not a table: %s', async (_what, statements, type) => {
    expect(await faultsIn(await altered(...statements))).toContain(`records: is not an ordinary table (${type})`);
  });

  it('reads a table whose name was written in another case, like SQLite', async () => {
    const renamed = ['ALTER TABLE policies RENAME TO hidden', 'ALTER TABLE hidden RENAME TO Policies'];
    const path = await altered(...renamed, `UPDATE policies SET effect = 'other'`);
    expect(new Set(await faultsIn(path))).toEqual(new Set(['records: it is not as its last entry left it']));
  });

  it('says what to do if no files can be created next to the database', async () => {
    const path = await altered('PRAGMA journal_mode = WAL');
    symlinkSync(join(folder, 'nowhere', 'file'), `${path}-shm`);
    const { exitCode, errors } = await runVerifier([path]);
    expect([exitCode, errors]).toEqual([2, expect.stringMatching(/Verify a copy in a folder .* \(SQLITE_CANTOPEN/)]);
  });

  it('reports a file that is not a database of the service as unreadable', async () => {
    const broken = join(folder, 'broken.db');
    writeFileSync(broken, `SQLite format 3\0${'x'.repeat(5000)}`);
    expect(await runVerifier([broken])).toMatchObject({
      exitCode: 2,
      errors: expect.stringMatching(/Could not be read/),
    });
  });
});

/** Statements that add a copy of a row with some columns changed. */
function added(table: string, columns: string): string[] {
  return [
    `CREATE TEMPORARY TABLE added AS SELECT * FROM ${table} LIMIT 1`,
    `UPDATE added SET ${columns}`,
    `INSERT INTO ${table} SELECT * FROM added`,
  ];
}
