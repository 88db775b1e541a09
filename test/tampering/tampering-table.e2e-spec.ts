import { RESTORATION } from '../../src/evidence/checkpoints/restorations';
import { Database } from '../../src/ledger/database/database';
import type { SqlConnection, SqlRow, SqlValue } from '../../src/ledger/database/sql-connection';
import { SYSTEM_CALLER } from '../../src/ledger/kinds/caller';
import { LedgerService } from '../../src/ledger/ledger.service';
import { seededRandom } from '../faults/support/random';
import { ActionsModule } from '../support/application/actions.module';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { describeOnSqlite } from '../support/database/database-kind';
import { doEverything, EVERY_ACTION_ENVIRONMENT } from '../support/requests/every-action';
import { addClaim, createAgent, createEntity } from '../support/application/factories';
import { foreignConnection } from '../support/database/foreign-connection';
import { generatedSection, markdownTable, marks } from '../support/documents/generated-section';
import { runVerifier } from '../support/processes/run-verifier';
import { erase } from '../support/application/erase';
import { send, type Answer } from '../support/application/send';

const DOCUMENT = 'SECURITY.md';
const RECORDS = [
  'entities',
  'claims',
  'agents',
  'decisions',
  'policies',
  'executions',
  'api_keys',
  'webhooks',
  'stops',
  'restorations',
  'erasures',
];
const LEDGER = ['ledger_entries', 'ledger_head', 'ledger_tree_nodes', 'ledger_list_items', 'ledger_counters'];
/** Empty except for some seconds after a large removal. */
const LEFTOVERS = 'ledger_leftovers';

/** Primary keys; that of records is the id. */
const KEYS: Readonly<Record<string, readonly string[]>> = {
  ledger_entries: ['sequence'],
  ledger_tree_nodes: ['level', 'position'],
  ledger_list_items: ['item', 'createdSequence'],
  ledger_counters: ['name'],
};
const UNIQUE: Readonly<Record<string, readonly string[]>> = { agents: ['name'], policies: ['name'] };

/** More than the first stored subtree of the tree has; each alteration is searched for in all of them. */
const LEAST_ENTRIES = 270;

/** Layers that can find an alteration. */
const LAYERS = ['chain', 'tree', 'records', 'derived data', 'kept checkpoint', 'offline verifier'] as const;
type Layer = (typeof LAYERS)[number];

/** A driver rounds it. */
const BEYOND = 2n ** 53n + 1n;

/** Columns that accept only integers. */
const ROW_NUMBERS = ['ledger_entries.sequence', 'ledger_head.id'];

/** Columns of a table that get a value of another type. */
const MAX_COLUMNS = 6;
const CHOICES = seededRandom(new Date().toISOString().slice(0, 10));

/** Columns that the offline verifier does not check. */
const DERIVED = [
  'ledger_list_items',
  'ledger_counters',
  'runBy',
  'createdBy',
  'secrets',
  'target',
  'timestamp',
  'lastUlid',
  'effectSequence',
  'schemaVersion',
];

const NOBODY: readonly Layer[] = [];

function layersOf({ body }: Answer): Layer[] {
  const { brokenLinks, invalidHashes, tree, invalidRecords, invalidDerived, checkpoint } = body;
  const hits: Record<string, boolean> = {
    chain: brokenLinks > 0 || invalidHashes > 0,
    tree: tree.matches === false,
    records: invalidRecords > 0,
    'derived data': invalidDerived > 0,
    'kept checkpoint': checkpoint.extended === false,
  };
  expect(body.valid).toBe(Object.values(hits).every((isFound) => !isFound));
  return LAYERS.filter((layer) => hits[layer] === true);
}

/**
 * A ledger with everything in it, more than the first stored subtree of the tree, and a checkpoint that a client keeps.
 */
async function fill(app: TestApp): Promise<void> {
  await doEverything(app);
  const { id } = await createEntity(app);
  await addClaim(app, id, { value: 'x' });
  await restored(app);
  await createAgent(app, { name: 'clerk', capabilities: ['read'], roles: ['clerk'] });
  for (let last = 0; last < LEAST_ENTRIES;) {
    await Promise.all(Array.from({ length: 30 }, () => createEntity(app)));
    last = (await send(app, 'GET', '/api/v1/audit?limit=1')).body.data[0].sequence;
  }
}

/** Adds a record of the kind that a start with an older database leaves. */
async function restored({ application }: TestApp): Promise<void> {
  await application.get(LedgerService).write(SYSTEM_CALLER, async (transaction) => {
    const [accepted, givenUp] = ['0'.repeat(64), 'f'.repeat(64)];
    const record = {
      id: transaction.newId(RESTORATION),
      ...{ acceptedSize: 1, acceptedRootHash: accepted, givenUpSize: 2, givenUpRootHash: givenUp },
      givenUpCheckpoint: 'a checkpoint',
      createdAt: transaction.now,
    };
    return transaction.insert(RESTORATION, record, { action: 'ledger.restored', bySystem: true });
  });
}

/** Erases an entity, whose entries stay in the temporary table `erased_entries` as they were. */
async function erasedAfterCopy(app: TestApp, foreign: SqlConnection): Promise<void> {
  const { id } = await createEntity(app);
  await foreign.run(`CREATE TEMP TABLE erased_entries AS SELECT * FROM ledger_entries WHERE "subjectId" = '${id}'`);
  await erase(app, { type: 'entity', id });
}

describeOnSqlite('Tampering behind a running service', () => {
  let app: TestApp;
  let foreign: SqlConnection;
  let location: string;
  let checkpoint: string;
  const rows: string[][] = [];

  beforeAll(async () => {
    const environment = { ...EVERY_ACTION_ENVIRONMENT, RETAIN_AT_LEAST: 'PT0S' };
    app = await createTestApp({ modules: [ActionsModule], environment });
    foreign = await foreignConnection(app);
    await fill(app);
    await erasedAfterCopy(app, foreign);
    checkpoint = (await send(app, 'GET', '/api/v1/provenance/checkpoint')).body.checkpoint;
    ({ location } = app.application.get(Database));
    for (const table of [...RECORDS, ...LEDGER, LEFTOVERS]) {
      await foreign.run(`CREATE TEMP TABLE before_${table} AS SELECT * FROM ${table}`);
    }
  });
  afterAll(async () => {
    await foreign.close();
    await app.close();
  });

  async function isFoundOffline(): Promise<boolean> {
    const { exitCode } = await runVerifier([location]);
    expect([0, 1]).toContain(exitCode);
    return exitCode === 1;
  }

  async function findLayers(): Promise<Layer[]> {
    const [answer, offline] = await Promise.all([
      send(app, 'POST', '/api/v1/provenance/verify', { body: { state: true, checkpoint } }),
      isFoundOffline(),
    ]);
    expect(answer.status).toBe(200);
    return [...layersOf(answer), ...(offline ? (['offline verifier'] as const) : [])];
  }

  async function restore(table: string): Promise<void> {
    await foreign.run(`DELETE FROM ${table}`);
    await foreign.run(`INSERT INTO ${table} SELECT * FROM before_${table}`);
  }

  /** Records which layers found the case, and restores the tables. */
  async function note(what: string, tables: readonly string[]): Promise<void> {
    const layers = await findLayers();
    rows.push([what, ...marks(layers, LAYERS)]);
    for (const table of tables) await restore(table);
    expect([what, layers]).not.toEqual([what, NOBODY]);
  }

  async function oneRow(table: string): Promise<SqlRow> {
    const [row] = await foreign.all(
      `SELECT * FROM ${table} ORDER BY ${table === 'ledger_entries' ? 'abs(sequence - 100)' : 'rowid'} LIMIT 1`,
    );
    if (row === undefined) throw new Error(`${table} is empty.`);
    return row;
  }

  it('raises no alarm if no row was altered', async () => {
    expect(await findLayers()).toEqual(NOBODY);
  });

  it.each([...RECORDS, ...LEDGER])(
    'is found in every column of %s, in a row removed and in a row added',
    async (table) => {
      const row = await oneRow(table);
      const [condition, key] = keyOf(table, row);
      const columnsByMarks = new Map<string, string[]>();
      for (const [column, value] of Object.entries(row)) {
        await foreign.run(`UPDATE ${table} SET "${column}" = ${literal(altered(value))} WHERE ${condition}`, key);
        const layers = await findLayers();
        await restore(table);
        expect([column, layers]).not.toEqual([column, NOBODY]);
        const marked = JSON.stringify(marks(layers, LAYERS));
        columnsByMarks.set(marked, [...(columnsByMarks.get(marked) ?? []), column]);
      }
      for (const [marked, columns] of columnsByMarks) {
        const columnNames = columns.map((column) => `\`${column}\``).join(', ');
        rows.push([`\`${table}\`: ${columnNames} changed`, ...(JSON.parse(marked) as string[])]);
      }
      await foreign.run(`DELETE FROM ${table} WHERE ${condition}`, key);
      await note(`\`${table}\`: a row removed`, [table]);
      await foreign.run(addition(table, row));
      await note(`\`${table}\`: a row added`, [table]);
    },
    300_000,
  );

  it.each([...RECORDS, ...LEDGER])(
    'is found in every column of %s that holds a value of another type',
    async (table) => {
      const row = await oneRow(table);
      const [condition, key] = keyOf(table, row);
      for (const [column, value] of chosenColumns(table, row)) {
        for (const form of chosenForms(column, value)) {
          await foreign.run(`UPDATE ${table} SET "${column}" = ${form} WHERE ${condition}`, key);
          const layers = await findLayers();
          await restore(table);
          const isFound = { service: layers[0] !== 'offline verifier' && layers.length > 0, offline: layers.at(-1) };
          const offline = isDerived(table, column) ? isFound.offline : 'offline verifier';
          expect([column, form, isFound]).toEqual([column, form, { service: true, offline }]);
        }
      }
    },
  );

  it.each<[what: string, statements: string[]]>([
    ['the first entry removed', ['DELETE FROM ledger_entries WHERE sequence = 1']],
    ['an entry in the middle removed', ['DELETE FROM ledger_entries WHERE sequence = 100']],
    [
      'the last entry removed',
      ['DELETE FROM ledger_entries WHERE sequence = (SELECT max(sequence) FROM ledger_entries)'],
    ],
    ['all entries removed', ['DELETE FROM ledger_entries']],
    [
      'two entries swapped',
      [
        'UPDATE ledger_entries SET sequence = -1 WHERE sequence = 100',
        'UPDATE ledger_entries SET sequence = 100 WHERE sequence = 101',
        'UPDATE ledger_entries SET sequence = 101 WHERE sequence = -1',
      ],
    ],
    [
      'an entry removed, and all later ones renumbered',
      [
        'DELETE FROM ledger_entries WHERE sequence = 200',
        'UPDATE ledger_entries SET sequence = sequence - 1 WHERE sequence > 200',
      ],
    ],
    [
      'the last entry removed, and the head record set to the one before',
      [
        'DELETE FROM ledger_entries WHERE sequence = (SELECT max(sequence) FROM ledger_entries)',
        'UPDATE ledger_head SET (sequence, hash) = (SELECT sequence, hash FROM ledger_entries ORDER BY sequence DESC LIMIT 1)',
      ],
    ],
    ['the head record removed', ['DELETE FROM ledger_head']],
    [
      'the last entry inserted again, at a sequence beyond 2^53',
      [
        'CREATE TEMP TABLE put_in AS SELECT * FROM ledger_entries ORDER BY sequence DESC LIMIT 1',
        `UPDATE put_in SET sequence = ${BEYOND}, id = id || 'x'`,
        'INSERT INTO ledger_entries SELECT * FROM put_in',
      ],
    ],
    [
      'a stored subtree inserted at a position beyond 2^53',
      [`INSERT INTO ledger_tree_nodes SELECT level, ${BEYOND}, hash FROM ledger_tree_nodes LIMIT 1`],
    ],
    ['a counter inserted that counts nothing that exists', [`INSERT INTO ledger_counters VALUES ('unheard-of', 1)`]],
    [
      'an item of an unknown list inserted, for an existing record',
      [`INSERT INTO ledger_list_items SELECT 'unheard-of', "createdSequence", id FROM agents LIMIT 1`],
    ],
    [
      'the contents of an erased entry put back',
      [
        'DELETE FROM ledger_entries WHERE sequence IN (SELECT sequence FROM erased_entries)',
        'INSERT INTO ledger_entries SELECT * FROM erased_entries',
      ],
    ],
    [
      'an existing entity recorded as removed in `ledger_leftovers`',
      [`INSERT INTO ledger_leftovers SELECT 'claim', "entityId" FROM claims LIMIT 1`],
    ],
  ])('is found: %s', async (what, statements) => {
    for (const statement of statements) await foreign.run(statement);
    await note(what, [...LEDGER, LEFTOVERS]);
  });

  it('has its table in the document', () => {
    const table = markdownTable(['Altered', ...LAYERS], rows);
    expect(generatedSection(DOCUMENT, 'rows', table)).toBe(table);
  });
});

function isDerived(table: string, column: string): boolean {
  return DERIVED.includes(table) || (table !== 'ledger_entries' && DERIVED.includes(column));
}

/** All of them with TAMPERING=all; otherwise some, which differ from day to day. */
function chosenColumns(table: string, row: SqlRow): [column: string, value: SqlValue][] {
  const columns = Object.entries(row).filter(([column]) => !ROW_NUMBERS.includes(`${table}.${column}`));
  if (process.env['TAMPERING'] === 'all') return columns;
  return Array.from({ length: Math.min(MAX_COLUMNS, columns.length) }, () =>
    columns.splice(CHOICES.below(columns.length), 1),
  ).flat();
}

/** All of them with TAMPERING=all; otherwise one for each column, which differs from day to day. */
function chosenForms(column: string, value: SqlValue): string[] {
  const forms = otherForms(column, value);
  return process.env['TAMPERING'] === 'all' ? forms : [CHOICES.pick(forms)];
}

/** Forms of a value that do not fit its column, but that SQLite accepts. In JSON the second looks like the value. */
function otherForms(column: string, value: SqlValue): string[] {
  const forms = [`CAST("${column}" AS BLOB)`, `jsonb(json_quote("${column}"))`];
  if (value === null) return forms.slice(1);
  return typeof value === 'string' ? forms : [...forms, `"${column}" || 'x'`, `"${column}" + 0.5`];
}

function altered(value: SqlValue): SqlValue {
  if (value === null) return 'x';
  return typeof value === 'number' ? value + 1000 : `${value}x`;
}

/** The SQL condition that finds a row by its primary key. */
function keyOf(table: string, row: SqlRow): [condition: string, values: SqlValue[]] {
  const columns = KEYS[table] ?? ['id'];
  return [
    columns.map((name, index) => `"${name}" = $${index + 1}`).join(' AND '),
    columns.map((name) => row[name] ?? null),
  ];
}

/** Another row like an existing one, except for unique values. */
function addition(table: string, row: SqlRow): string {
  const unique = [...(KEYS[table] ?? ['id']), 'createdSequence', ...(UNIQUE[table] ?? [])];
  const values = Object.entries(row).map(([column, value]) =>
    literal(unique.includes(column) ? altered(value) : value),
  );
  return `INSERT INTO ${table} VALUES (${values.join(', ')})`;
}

function literal(value: SqlValue): string {
  if (value === null) return 'NULL';
  return typeof value === 'number' ? String(value) : `'${value.replaceAll("'", "''")}'`;
}
