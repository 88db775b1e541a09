import {
  type MigrationInterface,
  type QueryRunner,
  Table,
  type TableForeignKey,
  TableIndex,
  type TableIndexOptions,
} from 'typeorm';
import { integerColumn, optionalTextColumn, sequenceColumn, textColumn } from '../database/columns';
import { leafHash, TreeFrontier, type TreeNode } from '../merkle/tree';
import { byCreation, governedTable, optionalTexts, primary, texts, noWayBack } from './table-shapes';
import { SUMS } from '../records/statements';

/** Entries read, and nodes written, per statement. */
const CHUNK = 5_000;

const COLUMNS: readonly (readonly [table: string, column: string])[] = [
  ['ledger_head', `"frontier" text NOT NULL DEFAULT '${TreeFrontier.empty().text}'`],
  ['ledger_head', '"schemaVersion" bigint NOT NULL DEFAULT 0'],
  // Agents are machines or people; those of the first release count as machines.
  ['agents', `"kind" text NOT NULL DEFAULT 'machine'`],
  ['policies', '"approval" text'],
  ['policies', `"conditions" text NOT NULL DEFAULT '[]'`],
  ...['executionId', 'actionHash', 'approvers', 'executeWithin'].map(
    (name) => ['decisions', `"${name}" text`] as const,
  ),
  ...['reason', 'actionHash', 'approvedUntil'].map((name) => ['executions', `"${name}" text`] as const),
];

/** Agents are counted by their kind, those included that there are. */
const COUNT_KINDS =
  `INSERT INTO "ledger_counters" ("name", "value") SELECT 'agents:kind:' || "kind", count(*) FROM "agents" ` +
  'GROUP BY "kind"';

/** The previous index of decisions that can expire, which covers settled ones too. */
const PREVIOUS_DUE = new TableIndex({ columnNames: ['status', 'expiresAt'] });

/**
 * Everything that changed in the schema since 0.1.0, the first release, in one transaction, whichever room it belongs
 * to. Later changes are migrations of the rooms that needed them.
 */
export class SinceFirstRelease1764500000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    for (const table of newTables()) await queryRunner.createTable(table);
    for (const [table, column] of COLUMNS) await queryRunner.query(`ALTER TABLE "${table}" ADD COLUMN ${column}`);
    // One after another: `createIndices` creates all at once, and on SQLite fails where one reads the others meanwhile.
    for (const [table, indexes] of newIndexes())
      for (const index of indexes) await queryRunner.createIndex(table, new TableIndex(index));
    await queryRunner.dropIndex('decisions', PREVIOUS_DUE);
    await releaseClaims(queryRunner);
    await queryRunner.query(COUNT_KINDS);
    // Only a running execution has a process: so the column can be verified.
    await queryRunner.query(`UPDATE "executions" SET "runBy" = '' WHERE "runBy" <> '' AND "outcome" <> 'running'`);
    const frontier = await buildTree(queryRunner);
    await queryRunner.query(`UPDATE "ledger_head" SET "frontier" = '${frontier.text}' WHERE "id" = 1`);
  }

  /** The first release would not understand what has been written since: go back to a backup. */
  down(): Promise<void> {
    return Promise.reject(new Error('There is no way back to the schema of 0.1.0: restore a backup from before.'));
  }
}

function newTables(): Table[] {
  return [
    new Table({
      name: 'ledger_tree_nodes',
      columns: [primary(integerColumn('level')), primary(sequenceColumn('position')), textColumn('hash')],
    }),
    new Table({
      name: 'idempotency_keys',
      columns: [primary(textColumn('id')), ...texts('contentHash answer createdAt')],
      indices: [{ columnNames: ['createdAt'] }],
    }),
    new Table({ name: 'ledger_leftovers', columns: texts('subjectType ownerId').map(primary) }),
    new Table({
      name: 'process_leases',
      columns: [primary(textColumn('id')), ...['since', 'until'].map(sequenceColumn)],
    }),
    governedTable('restorations', [
      ...['acceptedSize', 'givenUpSize'].map(sequenceColumn),
      ...texts('acceptedRootHash givenUpRootHash givenUpCheckpoint createdAt'),
    ]),
    governedTable(
      'api_keys',
      [...texts('name scopes prefix secretHash status createdAt'), ...optionalTexts('agentId expiresAt revokedAt')],
      [byCreation('status'), byCreation('agentId'), byCreation('status', 'agentId')],
    ),
    governedTable('webhooks', [
      ...texts('url actions description secretHash secrets status createdAt updatedAt'),
      optionalTextColumn('agentId'),
    ]),
    new Table({
      name: 'webhook_standings',
      columns: [
        primary(textColumn('webhookId')),
        ...['sequence', 'epoch', 'term'].map(sequenceColumn),
        ...['failingSequence', 'replayHead'].map((name) => ({ ...sequenceColumn(name), isNullable: true })),
        integerColumn('attempts'),
        { ...integerColumn('lastStatus'), isNullable: true },
        ...optionalTexts('failingSince failingUrl lastAttemptAt nextAttemptAt'),
      ],
    }),
    new Table({
      name: 'webhook_leases',
      columns: [primary(integerColumn('id')), textColumn('holder'), ...['term', 'until'].map(sequenceColumn)],
    }),
  ];
}

function newIndexes(): [table: string, indexes: TableIndexOptions[]][] {
  return [
    [
      'ledger_entries',
      [
        // What one key or token has done.
        { columnNames: ['actorId', 'sequence'] },
        // The last entry about a key, however often its holder was refused since.
        { columnNames: ['subjectId', 'sequence'], where: `"action" <> 'access.denied'` },
      ],
    ],
    ['entities', [byCreation('name')]],
    ['agents', [byCreation('kind')]],
    [
      'decisions',
      [
        byCreation('executionId'),
        // Those that can still expire.
        { columnNames: ['expiresAt', 'id'], where: `"resolvedAt" IS NULL AND "expiresAt" IS NOT NULL` },
      ],
    ],
    [
      'executions',
      [
        ...['decisionId', 'actionHash', 'resourceType', 'resourceId'].map((column) => byCreation(column)),
        byCreation('actionHash', 'outcome'),
        { columnNames: ['approvedUntil', 'id'], where: `"outcome" = 'approved'` },
      ],
    ],
  ];
}

/** An entity is removed at once; its claims, which nothing shows any more, are deleted later. */
async function releaseClaims(queryRunner: QueryRunner): Promise<void> {
  const table = await queryRunner.getTable('claims');
  const keys: TableForeignKey[] = [...(table?.foreignKeys ?? [])];
  for (const key of keys) await queryRunner.dropForeignKey('claims', key);
}

/** Builds the Merkle tree over the entries as they are: finding faults in them is up to verification. */
async function buildTree(queryRunner: QueryRunner): Promise<TreeFrontier> {
  const frontier = TreeFrontier.empty();
  for (let after = '-1'; ;) {
    const entries = (await queryRunner.query(
      `SELECT "sequence", "hash" FROM "ledger_entries" WHERE "sequence" > ${after} ORDER BY "sequence" LIMIT ${CHUNK}`,
    )) as { sequence: string | number; hash: unknown }[];
    const nodes: TreeNode[] = [];
    for (const { hash } of entries) frontier.append(leafHash(String(hash)), nodes);
    await insertNodes(queryRunner, nodes);
    const last = entries.at(-1);
    if (last === undefined) return frontier;
    after = String(last.sequence);
  }
}

async function insertNodes(queryRunner: QueryRunner, nodes: readonly TreeNode[]): Promise<void> {
  if (nodes.length === 0) return;
  // Numbers and hashes that we made ourselves: nothing needs quoting.
  const values = nodes.map(({ level, position, hash }) => `(${level}, ${position}, '${hash}')`);
  await queryRunner.query(`INSERT INTO "ledger_tree_nodes" ("level", "position", "hash") VALUES ${values.join(', ')}`);
}

/** What entries of the sealed form 2 have besides. Older entries keep null: nothing of them changes. */
const SALTED_COLUMNS = ['"detailsSalt" text', '"stateSalt" text', '"detailsHash" text', '"erased" bigint'];

/** Entries commit with salts to what may have to be forgotten. */
export class SaltedEntries1764600000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    for (const column of SALTED_COLUMNS) await queryRunner.query(`ALTER TABLE "ledger_entries" ADD COLUMN ${column}`);
  }

  /** Without their salts, nobody could verify the entries written since: go back to a backup. */
  readonly down = noWayBack('sealed form 2');
}

/** Kept answers name the records that they show, so that an erasure finds them. Those kept before name none. */
export class ShownRecords1764650000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "idempotency_keys" ADD COLUMN "subjects" text NOT NULL DEFAULT '[]'`);
  }

  /** An earlier version would go on showing what was erased: go back to a backup. */
  readonly down = noWayBack('erasures');
}

/** Sums that decisions depend on, kept next to the entries that they are derived from. */
export class Sums1765100000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    const columns = [...texts('sum window key').map(primary), textColumn('value')];
    await queryRunner.createTable(new Table({ name: SUMS, columns }));
  }

  /** A version that keeps no sums would allow more than limits let. */
  readonly down = noWayBack('limits');
}
