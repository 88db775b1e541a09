import { Database } from '../../src/ledger/database/database';
import type { SqlConnection } from '../../src/ledger/database/sql-connection';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { describeOnSqlite } from '../support/database/database-kind';
import { addClaim, createAgent, createEntity } from '../support/application/factories';
import { foreignConnection } from '../support/database/foreign-connection';
import { runVerifier } from '../support/processes/run-verifier';
import { send } from '../support/application/send';

/** The character that readers show for bytes that are not UTF-8; a valid text may contain it, too. */
const REPLACEMENT = '\ufffd';

const COLUMNS: readonly [table: string, column: string][] = [
  ['agents', 'name'],
  ['agents', 'description'],
  ['agents', 'roles'],
  ['entities', 'type'],
  ['entities', 'name'],
  ['entities', 'properties'],
  ['claims', 'predicate'],
  ['claims', 'value'],
  ['claims', 'context'],
  ['ledger_entries', 'state'],
];

describeOnSqlite('A text that is not UTF-8, but is read as the original text', () => {
  let app: TestApp;
  let foreign: SqlConnection;

  beforeAll(async () => {
    app = await createTestApp();
    const text = `Bo${REPLACEMENT}`;
    await createAgent(app, { name: text, description: text, roles: [text] });
    const { id } = await createEntity(app, { type: text, name: text, properties: { [text]: text } });
    await addClaim(app, id, { predicate: text, value: text, context: { text } });
    foreign = await foreignConnection(app);
  });
  afterAll(async () => {
    await foreign.close();
    await app.close();
  });

  async function verdicts(): Promise<{ service: boolean; offline: boolean }> {
    const { body } = await send(app, 'POST', '/api/v1/provenance/verify', { body: { state: true } });
    const { exitCode } = await runVerifier([app.application.get(Database).location]);
    return { service: body.valid, offline: exitCode === 0 };
  }

  it('is not a fault if it is the original text itself', async () => {
    expect(await verdicts()).toEqual({ service: true, offline: true });
  });

  it.each(COLUMNS)('is found in %s, %s', async (table, column) => {
    const condition = `rowid = (SELECT min(rowid) FROM ${table} WHERE instr("${column}", '${REPLACEMENT}'))`;
    const [row] = await foreign.all(`SELECT rowid AS "number", "${column}" AS "text" FROM ${table} WHERE ${condition}`);
    const bytes = `unhex(replace(hex("${column}"), 'EFBFBD', '80'))`;
    await foreign.run(`UPDATE ${table} SET "${column}" = CAST(${bytes} AS TEXT) WHERE ${condition}`);
    const results = await verdicts();
    await foreign.run(`UPDATE ${table} SET "${column}" = $1 WHERE rowid = $2`, [
      row?.['text'] ?? null,
      row?.['number'] ?? null,
    ]);
    expect(results).toEqual({ service: false, offline: false });
    expect(await verdicts()).toEqual({ service: true, offline: true });
  });

  it('is found in the last list item of all', async () => {
    await foreign.run(
      `UPDATE ledger_list_items SET item = item || CAST(x'ff' AS TEXT) WHERE item = (SELECT max(item) FROM ledger_list_items)`,
    );
    expect(await verdicts()).toEqual({ service: false, offline: true });
    await foreign.run(
      `UPDATE ledger_list_items SET item = CAST(unhex(substr(hex(item), 1, length(hex(item)) - 2)) AS TEXT) ` +
        `WHERE item = (SELECT max(item) FROM ledger_list_items)`,
    );
    expect(await verdicts()).toEqual({ service: true, offline: true });
  });

  it('is found as the id of an inserted record that sorts after all others and is counted', async () => {
    await foreign.run('CREATE TEMP TABLE put_in AS SELECT * FROM claims LIMIT 1');
    await foreign.run(`UPDATE put_in SET id = CAST(x'7aff' AS TEXT), "createdSequence" = 0`);
    await foreign.run('INSERT INTO claims SELECT * FROM put_in');
    await foreign.run(`UPDATE ledger_counters SET value = value + 1 WHERE name = 'claims'`);
    expect(await verdicts()).toEqual({ service: false, offline: false });
  });
});
