import type { SqlConnection, SqlValue } from '../../src/ledger/database/sql-connection';
import { ActionsModule } from '../support/application/actions.module';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { itOnSqlite } from '../support/database/database-kind';
import { doEverything, EVERY_ACTION_ENVIRONMENT } from '../support/requests/every-action';
import { addClaim, createAgent, createEntity } from '../support/application/factories';
import { foreignConnection } from '../support/database/foreign-connection';
import { Notes, NotesModule } from '../support/application/notes.module';
import { faults, send, type Answer } from '../support/application/send';
import { temporaryDatabase } from '../support/database/temporary-database';

const VERIFY = '/api/v1/provenance/verify';
const NOTHING = { invalidRecords: 0, firstInvalidRecords: [], invalidDerived: 0, firstInvalidDerived: [] };
const TABLES = [
  'entities',
  'claims',
  'agents',
  'decisions',
  'policies',
  'executions',
  'api_keys',
  'webhooks',
  'stops',
  'notes',
];
/** A value in JSON, a secret, and what a module adds. The columns of every table: tampering-table.e2e-spec.ts. */
const CHANGED_TABLES = ['claims', 'webhooks', 'notes'];

describe('Verification of the records', () => {
  let app: TestApp;
  let foreign: SqlConnection;
  let entityId: string;
  let claimId: string;

  beforeAll(async () => {
    app = await createTestApp({ modules: [ActionsModule, NotesModule], environment: EVERY_ACTION_ENVIRONMENT });
    await doEverything(app);
    entityId = (await createEntity(app, { type: 'service' })).id;
    claimId = (await addClaim(app, entityId, { value: 'x' })).id;
    await addClaim(app, entityId, { value: 0.1 });
    await createAgent(app, { name: 'clerk', capabilities: ['read', 'write'], roles: ['clerk'] });
    await app.application.get(Notes).add('a', { text: 'é"\u0001' });
    foreign = await foreignConnection(app);
    for (const table of [...TABLES, 'ledger_list_items', 'ledger_counters', 'ledger_head']) {
      await foreign.run(`CREATE TEMP TABLE before_${table} AS SELECT * FROM ${table}`);
    }
  });
  afterEach(async () => {
    const all = [...TABLES, 'ledger_list_items', 'ledger_counters', 'ledger_head'];
    // At once: each minute the service checks the head, and would write nothing more if it were missing.
    await foreign.run('BEGIN');
    for (const table of [...all].reverse()) await foreign.run(`DELETE FROM ${table}`);
    for (const table of all) await foreign.run(`INSERT INTO ${table} SELECT * FROM before_${table}`);
    await foreign.run('COMMIT');
    expect(await verification()).toMatchObject({ valid: true, ...NOTHING });
  });
  afterAll(async () => {
    await foreign.close();
    await app.close();
  });

  function verify(body: object = { state: true }): Promise<Answer> {
    return send(app, 'POST', VERIFY, { body });
  }

  async function verification(): Promise<Answer['body']> {
    const { status, body } = await verify();
    expect(status).toBe(200);
    return body;
  }

  async function one(table: string): Promise<Record<string, SqlValue>> {
    const [row] = await foreign.all(`SELECT * FROM ${table} ORDER BY "id" LIMIT 1`);
    return row ?? {};
  }

  it('finds no fault if no row was altered, and counts what it checked', async () => {
    let records = 0;
    for (const table of TABLES) records += (await foreign.all(`SELECT "id" FROM ${table}`)).length;
    expect(await verification()).toMatchObject({ valid: true, recordsVerified: records, ...NOTHING });
  });

  it('is omitted unless it is requested', async () => {
    const members = Object.keys((await verify({})).body);
    expect(members).not.toEqual(expect.arrayContaining(['invalidRecords']));
    expect(Object.keys((await verify({ state: false })).body)).toEqual(members);
    expect(Object.keys((await verify({ state: null })).body)).toEqual(members);
    expect(faults(await verify({ state: 1 }))).toEqual({ state: 'must be true or false' });
  });

  it.each(CHANGED_TABLES)('finds every changed column of %s', async (table) => {
    const row = await one(table);
    const subjectType = table.slice(0, -1);
    for (const [column, value] of Object.entries(row).filter(([name]) => name !== 'id')) {
      for (const altered of alterations(table, column, value)) {
        await foreign.run(`UPDATE ${table} SET "${column}" = $1 WHERE "id" = $2`, [altered, row['id'] ?? null]);
        const { valid, firstInvalidRecords } = await verification();
        expect({ column, altered, valid, firstInvalidRecords }).toEqual({
          ...{ column, altered, valid: false },
          firstInvalidRecords: [{ subjectType, subjectId: row['id'], fault: 'changed' }],
        });
        await foreign.run(`UPDATE ${table} SET "${column}" = $1 WHERE "id" = $2`, [value, row['id'] ?? null]);
      }
    }
  });

  it.each(TABLES)('finds a changed id in %s: one record is missing, another was added', async (table) => {
    // The id of a record that is referred to cannot be changed.
    const { id } = table === 'entities' ? await createEntity(app) : await one(table);
    if (table === 'entities') await foreign.run(`DELETE FROM before_entities`);
    if (table === 'entities') await foreign.run(`INSERT INTO before_entities SELECT * FROM entities`);
    await refreshBookkeeping();
    await foreign.run(`UPDATE ${table} SET "id" = 'x' WHERE "id" = $1`, [id ?? null]);
    expect(await verification()).toMatchObject({
      valid: false,
      invalidRecords: 2,
      firstInvalidRecords: [
        { subjectId: 'x', fault: 'added' },
        { subjectId: id, fault: 'missing' },
      ],
    });
  });

  it('reports a missing record, but not its claims as well', async () => {
    await foreign.run('DELETE FROM claims WHERE "id" = $1', [claimId]);
    expect(await verification()).toMatchObject({
      invalidRecords: 1,
      firstInvalidRecords: [{ subjectType: 'claim', subjectId: claimId, fault: 'missing' }],
      firstInvalidDerived: [{ data: 'counter', name: 'claims' }],
    });
  });

  it('accepts that claims are removed with their entity, and finds one that was reinserted', async () => {
    const { id } = await createEntity(app);
    const claim = await addClaim(app, id);
    await send(app, 'DELETE', `/api/v1/entities/${id}`);
    await refreshBookkeeping();
    expect(await verification()).toMatchObject({ valid: true, ...NOTHING });
    const [last] = await foreign.all<{ sequence: number }>(
      'SELECT "sequence" FROM ledger_entries WHERE "subjectId" = $1',
      [claim.id],
    );
    // If the database enforces the reference, the entity has to be reinserted as well.
    await foreign.run(
      `INSERT INTO entities ("id", "createdSequence", "type", "name", "properties", "createdAt", "updatedAt", "revision") ` +
        `SELECT $1, -1, "type", "name", "properties", "createdAt", "updatedAt", "revision" FROM entities WHERE "id" = $2`,
      [id, entityId],
    );
    await foreign.run(
      `INSERT INTO claims ("id", "createdSequence", "entityId", "predicate", "predicateKey", "value", "context", "createdAt") VALUES ($1, $2, $3, $4, $4, $5, '{}', $6)`,
      [claim.id, last?.sequence ?? null, id, claim.predicate, JSON.stringify(claim.value), claim.createdAt],
    );
    expect((await verification()).firstInvalidRecords).toEqual([
      { subjectType: 'entity', subjectId: id, fault: 'added' },
    ]);
  });

  it('names at most ten, and counts all', async () => {
    for (let made = 0; made < 12; made += 1) await app.application.get(Notes).add(`many ${made}`);
    await foreign.run('DELETE FROM before_notes');
    await foreign.run('INSERT INTO before_notes SELECT * FROM notes');
    await refreshBookkeeping();
    await foreign.run(`UPDATE notes SET "text" = 'altered'`);
    const { invalidRecords, firstInvalidRecords } = await verification();
    expect(invalidRecords).toBe(13);
    expect(firstInvalidRecords).toHaveLength(10);
  });

  it('finds list items that were changed, removed or inserted', async () => {
    const [item] = await foreign.all('SELECT * FROM ledger_list_items ORDER BY "item" LIMIT 1');
    const { recordId, createdSequence } = item ?? {};
    const stray = { valid: false, invalidRecords: 0 };
    for (const change of [
      `UPDATE ledger_list_items SET "item" = 'agents:roles:root' WHERE "recordId" = '${recordId}' AND "item" LIKE 'agents:roles:%'`,
      `UPDATE ledger_list_items SET "createdSequence" = 100000 WHERE "recordId" = '${recordId}'`,
      `DELETE FROM ledger_list_items WHERE "recordId" = '${recordId}'`,
      `INSERT INTO ledger_list_items ("item", "createdSequence", "recordId") VALUES ('agents:roles:new', ${createdSequence}, '${recordId}')`,
    ]) {
      await foreign.run(change);
      const body = await verification();
      expect({ change, ...body }).toMatchObject(stray);
      expect(body.firstInvalidDerived).toContainEqual({ data: 'listItems', name: recordId });
      await foreign.run('DELETE FROM ledger_list_items');
      await foreign.run('INSERT INTO ledger_list_items SELECT * FROM before_ledger_list_items');
    }
    await foreign.run(
      `INSERT INTO ledger_list_items ("item", "createdSequence", "recordId") VALUES ('x', 1, 'nobody')`,
    );
    expect(await verification()).toMatchObject({
      ...stray,
      firstInvalidDerived: [{ data: 'listItems', name: 'nobody' }],
    });
  });

  it('finds a list item without a record at a sequence that is rounded', async () => {
    for (const sequence of [-(2n ** 63n), 2n ** 53n + 1n, 2n ** 63n - 1n]) {
      await foreign.run(`INSERT INTO ledger_list_items VALUES ('x', ${sequence}, 'nobody')`);
      expect(await verification()).toMatchObject({
        valid: false,
        firstInvalidDerived: [{ data: 'listItems', name: 'nobody' }],
      });
      await foreign.run(`DELETE FROM ledger_list_items WHERE "item" = 'x'`);
    }
  });

  itOnSqlite.each(['item', 'createdSequence', 'recordId'])('finds bytes as the %s of a list item', async (column) => {
    for (const bytes of [`CAST("${column}" AS BLOB)`, `x'ff00'`]) {
      const [{ recordId } = {}] = await foreign.all('SELECT "recordId" FROM ledger_list_items ORDER BY rowid LIMIT 1');
      await foreign.run(
        `UPDATE ledger_list_items SET "${column}" = ${bytes} WHERE rowid = (SELECT min(rowid) FROM ledger_list_items)`,
      );
      const { valid, firstInvalidDerived } = await verification();
      expect(valid).toBe(false);
      expect(firstInvalidDerived).toContainEqual({ data: 'listItems', name: recordId });
      await foreign.run('DELETE FROM ledger_list_items');
      await foreign.run('INSERT INTO ledger_list_items SELECT * FROM before_ledger_list_items');
    }
  });

  // The tampering table covers the service's own tables.
  itOnSqlite.each(['notes'])('finds bytes in every column of %s', async (table) => {
    const columns = await foreign.all<{ name: string }>(`SELECT "name" FROM pragma_table_info('${table}')`);
    for (const { name } of columns) {
      await foreign.run(`UPDATE ${table} SET "${name}" = x'ff00' WHERE rowid = (SELECT min(rowid) FROM ${table})`);
      const { valid } = await verification();
      expect({ name, valid }).toEqual({ name, valid: false });
      await foreign.run(`DELETE FROM ${table}`);
      await foreign.run(`INSERT INTO ${table} SELECT * FROM before_${table}`);
    }
  });

  it('finds every wrong counter, and a missing one', async () => {
    const counters = await foreign.all<{ name: string }>('SELECT "name" FROM ledger_counters');
    await foreign.run('UPDATE ledger_counters SET "value" = "value" + 1');
    expect(await verification()).toMatchObject({ valid: false, invalidRecords: 0, invalidDerived: counters.length });
    await foreign.run('UPDATE ledger_counters SET "value" = "value" - 1');
    for (const name of ['claims', 'agents:roles:clerk', 'entities:type:service', 'ledger_entries:outcome:denied']) {
      await foreign.run('UPDATE ledger_counters SET "value" = "value" - 1 WHERE "name" = $1', [name]);
      const { invalidDerived, firstInvalidDerived } = await verification();
      expect({ invalidDerived, firstInvalidDerived }).toEqual({
        invalidDerived: 1,
        firstInvalidDerived: [{ data: 'counter', name }],
      });
      await foreign.run('UPDATE ledger_counters SET "value" = "value" + 1 WHERE "name" = $1', [name]);
    }
    await foreign.run(`DELETE FROM ledger_counters WHERE "name" = 'agents'`);
    expect((await verification()).firstInvalidDerived).toEqual([{ data: 'counter', name: 'agents' }]);
  });

  it.each(['', 'unheard-of', 'unheard-of:type:service', 'entities:unheard-of:x', 'entities:', 'ledger_entries'])(
    'finds a counter "%s", which counts nothing that exists',
    async (name) => {
      for (const value of [0, 7]) {
        await foreign.run('INSERT INTO ledger_counters ("name", "value") VALUES ($1, $2)', [name, value]);
        const firstInvalidDerived = [{ data: 'counter', name }];
        expect(await verification()).toMatchObject({ valid: false, invalidDerived: 1, firstInvalidDerived });
        await foreign.run('DELETE FROM ledger_counters WHERE "name" = $1', [name]);
      }
    },
  );

  it('names at most ten counters that count nothing, and counts all', async () => {
    for (let made = 0; made < 12; made += 1) {
      await foreign.run('INSERT INTO ledger_counters ("name", "value") VALUES ($1, 1)', [`unheard-of:${made}`]);
    }
    const { invalidDerived, firstInvalidDerived } = await verification();
    expect(invalidDerived).toBe(12);
    expect(firstInvalidDerived).toHaveLength(10);
  });

  itOnSqlite('finds a counter whose name is bytes', async () => {
    await foreign.run(`INSERT INTO ledger_counters ("name", "value") VALUES (CAST('entities' AS BLOB), 0)`);
    expect(await verification()).toMatchObject({ valid: false, invalidDerived: 1 });
  });

  it.each(['entities', 'agents', 'decisions'])('finds an item of an unknown list, of one of the %s', async (table) => {
    for (const item of ['unheard-of', 'unheard-of:roles:clerk', `${table}:unheard-of:x`]) {
      const { id, createdSequence } = await one(table);
      await foreign.run(`INSERT INTO ledger_list_items ("item", "createdSequence", "recordId") VALUES ($1, $2, $3)`, [
        ...[item, createdSequence ?? null, id ?? null],
      ]);
      const firstInvalidDerived = [{ data: 'listItems', name: id }];
      expect(await verification()).toMatchObject({ valid: false, invalidDerived: 1, firstInvalidDerived });
      await foreign.run(`DELETE FROM ledger_list_items WHERE "item" = $1`, [item]);
    }
  });

  it.each([
    ['timestamp', `"timestamp" = '2036-01-01T00:00:00.000Z'`],
    ['lastUlid', `"lastUlid" = '${'0'.repeat(26)}'`],
    ['lastUlid', `"lastUlid" = 'x'`],
    ['effectSequence', `"effectSequence" = 0`],
    ['effectSequence', `"effectSequence" = 1000000`],
    ['schemaVersion', `"schemaVersion" = 1`],
  ])('finds a wrong %s of the head record', async (name, change) => {
    await foreign.run(`UPDATE ledger_head SET ${change}`);
    expect(await verification()).toMatchObject({ valid: false, firstInvalidDerived: [{ data: 'head', name }] });
  });

  it('finds a second head record', async () => {
    await foreign.run(
      `INSERT INTO ledger_head ("id", "sequence", "hash", "timestamp", "lastUlid", "effectSequence") ` +
        `SELECT 2, "sequence", "hash", "timestamp", "lastUlid", "effectSequence" FROM ledger_head`,
    );
    expect(await verification()).toMatchObject({ valid: false, firstInvalidDerived: [{ data: 'head', name: 'id' }] });
  });

  /** Takes the rows that the service has written since then as the sound ones. */
  async function refreshBookkeeping(): Promise<void> {
    for (const table of ['ledger_list_items', 'ledger_counters', 'ledger_head']) {
      await foreign.run(`DELETE FROM before_${table}`);
      await foreign.run(`INSERT INTO before_${table} SELECT * FROM ${table}`);
    }
  }
});

describe('Verification of the records while they change', () => {
  it('raises no false alarm', async () => {
    const app = await createTestApp({ modules: [NotesModule] });
    const ids = await Promise.all(Array.from({ length: 40 }, async () => (await createEntity(app)).id));
    let isWriting = true;
    const writer = async (start: number): Promise<void> => {
      for (let turn = start; isWriting; turn += 1) {
        const id = ids[turn % ids.length] ?? '';
        await send(app, 'PUT', `/api/v1/entities/${id}`, { body: { name: `Name ${turn}`, type: `type ${turn % 3}` } });
        const { id: passing } = await createEntity(app);
        await addClaim(app, passing);
        await createAgent(app, { name: `agent ${start} ${turn}`, roles: [`role ${turn % 5}`] });
        await send(app, 'DELETE', `/api/v1/entities/${passing}`);
      }
    };
    const writers = [0, 10, 20, 30].map(writer);
    for (let run = 0; run < 12; run += 1) {
      expect((await send(app, 'POST', VERIFY, { body: { state: true } })).body).toMatchObject({
        valid: true,
        ...NOTHING,
      });
    }
    isWriting = false;
    await Promise.all(writers);
    await app.close();
  });

  it('ignores the counters of a module that is no longer loaded', async () => {
    const database = await temporaryDatabase();
    const { environment } = database;
    const before = await createTestApp({ modules: [NotesModule], environment });
    await createEntity(before);
    await before.application.get(Notes).add('a', { topic: 'b' });
    await before.close();
    const after = await createTestApp({ environment });
    const { body } = await send(after, 'POST', VERIFY, { body: { state: true } });
    await after.close();
    await database.remove();
    expect(body).toMatchObject({ valid: true, recordsVerified: 1, ...NOTHING });
  });

  it('is valid for a ledger without entries', async () => {
    const app = await createTestApp();
    const { body } = await send(app, 'POST', VERIFY, { body: { state: true } });
    await app.close();
    expect(body).toMatchObject({ valid: true, recordsVerified: 0, ...NOTHING });
  });
});

/** Different values for a column. */
function alterations(table: string, column: string, value: SqlValue): SqlValue[] {
  if (typeof value === 'number') return [value + 1000];
  // A reference has to name an existing record.
  if (table === 'claims' && column === 'entityId') return [];
  // The text is not hashed, but the secret in it is.
  if (column === 'secrets') return [`${value}x`, String(value).replace('whsec_', 'whsec_AAAA')];
  return value === null ? ['x'] : [`${value}x`, ` ${value}`];
}
