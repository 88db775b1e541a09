import type { TableForeignKey } from 'typeorm';
import { Table, TableIndex, type MigrationInterface, type QueryRunner } from 'typeorm';
import {
  createIndexes,
  governedColumns,
  integerColumn,
  optionalTextColumn,
  sequenceColumn,
  textColumn,
} from '../database/columns';
import { leafHash, TreeFrontier, type TreeNode } from '../merkle/tree';
import { countRows } from './count-rows';

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

/** The previous index of decisions that can expire, which covers settled ones too. */
const PREVIOUS_DUE = new TableIndex({ columnNames: ['status', 'expiresAt'] });

/**
 * Everything that changed in the schema since 0.1.0, the first release, in one transaction, whichever room it belongs to.
 * What changes from here on is a migration of its own room again.
 */
export class SinceFirstRelease1764500000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    for (const table of newTables()) await queryRunner.createTable(table);
    for (const [table, column] of COLUMNS) await queryRunner.query(`ALTER TABLE "${table}" ADD COLUMN ${column}`);
    for (const [table, indexes] of newIndexes()) await createIndexes(queryRunner, table, indexes);
    await queryRunner.dropIndex('decisions', PREVIOUS_DUE);
    await releaseClaims(queryRunner);
    await countRows(queryRunner, 'agents', 'agents', ['kind']);
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
    treeNodes(),
    idempotencyKeys(),
    leftovers(),
    processLeases(),
    restorations(),
    apiKeys(),
    webhooks(),
    webhookStandings(),
    webhookLeases(),
  ];
}

function newIndexes(): [table: string, indexes: TableIndex[]][] {
  const byCreation = (...columns: string[]): TableIndex =>
    new TableIndex({ columnNames: [...columns, 'createdSequence'] });
  return [
    [
      'ledger_entries',
      [
        // What one key or token has done.
        new TableIndex({ columnNames: ['actorId', 'sequence'] }),
        // The last entry about a key, however often its holder was refused since.
        new TableIndex({ columnNames: ['subjectId', 'sequence'], where: `"action" <> 'access.denied'` }),
      ],
    ],
    ['entities', [byCreation('name')]],
    ['agents', [byCreation('kind')]],
    [
      'decisions',
      [
        byCreation('executionId'),
        // Those that can still expire.
        new TableIndex({
          columnNames: ['expiresAt', 'id'],
          where: `"resolvedAt" IS NULL AND "expiresAt" IS NOT NULL`,
        }),
      ],
    ],
    [
      'executions',
      [
        byCreation('decisionId'),
        byCreation('actionHash'),
        byCreation('actionHash', 'outcome'),
        byCreation('resourceType'),
        byCreation('resourceId'),
        new TableIndex({ columnNames: ['approvedUntil', 'id'], where: `"outcome" = 'approved'` }),
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

function treeNodes(): Table {
  return new Table({
    name: 'ledger_tree_nodes',
    columns: [
      { ...integerColumn('level'), isPrimary: true },
      { ...sequenceColumn('position'), isPrimary: true },
      textColumn('hash'),
    ],
  });
}

function idempotencyKeys(): Table {
  return new Table({
    name: 'idempotency_keys',
    columns: [
      { ...textColumn('id'), isPrimary: true },
      textColumn('contentHash'),
      textColumn('answer'),
      textColumn('createdAt'),
    ],
    indices: [{ columnNames: ['createdAt'] }],
  });
}

function leftovers(): Table {
  const columns = ['subjectType', 'ownerId'].map((name) => ({ ...textColumn(name), isPrimary: true }));
  return new Table({ name: 'ledger_leftovers', columns });
}

function processLeases(): Table {
  return new Table({
    name: 'process_leases',
    columns: [{ ...textColumn('id'), isPrimary: true }, sequenceColumn('since'), sequenceColumn('until')],
  });
}

function restorations(): Table {
  return new Table({
    name: 'restorations',
    columns: [
      ...governedColumns(),
      sequenceColumn('acceptedSize'),
      textColumn('acceptedRootHash'),
      sequenceColumn('givenUpSize'),
      textColumn('givenUpRootHash'),
      textColumn('givenUpCheckpoint'),
      textColumn('createdAt'),
    ],
    indices: [{ columnNames: ['createdSequence'], isUnique: true }],
  });
}

function apiKeys(): Table {
  return new Table({
    name: 'api_keys',
    columns: [
      ...governedColumns(),
      textColumn('name'),
      textColumn('scopes'),
      optionalTextColumn('agentId'),
      textColumn('prefix'),
      textColumn('secretHash'),
      textColumn('status'),
      textColumn('createdAt'),
      optionalTextColumn('expiresAt'),
      optionalTextColumn('revokedAt'),
    ],
    indices: [
      { columnNames: ['createdSequence'], isUnique: true },
      { columnNames: ['status', 'createdSequence'] },
      { columnNames: ['agentId', 'createdSequence'] },
      { columnNames: ['status', 'agentId', 'createdSequence'] },
    ],
  });
}

function webhooks(): Table {
  return new Table({
    name: 'webhooks',
    columns: [
      ...governedColumns(),
      textColumn('url'),
      textColumn('actions'),
      optionalTextColumn('agentId'),
      textColumn('description'),
      textColumn('secretHash'),
      textColumn('secrets'),
      textColumn('status'),
      textColumn('createdAt'),
      textColumn('updatedAt'),
    ],
    indices: [{ columnNames: ['createdSequence'], isUnique: true }],
  });
}

function webhookStandings(): Table {
  return new Table({
    name: 'webhook_standings',
    columns: [
      { ...textColumn('webhookId'), isPrimary: true },
      sequenceColumn('sequence'),
      sequenceColumn('epoch'),
      sequenceColumn('term'),
      integerColumn('attempts'),
      optionalTextColumn('failingSince'),
      optionalTextColumn('lastAttemptAt'),
      { ...integerColumn('lastStatus'), isNullable: true },
      optionalTextColumn('nextAttemptAt'),
      { ...sequenceColumn('failingSequence'), isNullable: true },
      optionalTextColumn('failingUrl'),
      { ...sequenceColumn('replayHead'), isNullable: true },
    ],
  });
}

function webhookLeases(): Table {
  return new Table({
    name: 'webhook_leases',
    columns: [
      { ...integerColumn('id'), isPrimary: true },
      textColumn('holder'),
      sequenceColumn('term'),
      sequenceColumn('until'),
    ],
  });
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
