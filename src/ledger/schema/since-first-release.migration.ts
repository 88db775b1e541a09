import {
  type MigrationInterface,
  type QueryRunner,
  Table,
  type TableColumnOptions,
  TableIndex,
  type TableIndexOptions,
} from 'typeorm';
import { integerColumn, sequenceColumn, textColumn } from '../database/columns';
import { leafHash, TreeFrontier, type TreeNode } from '../merkle/tree';
import { byCreation, governedTable, optionalTexts, primary, texts } from './table-shapes';

/** Most entries or claims read, and nodes written, per statement. */
const CHUNK = 5_000;

/** Conditions at this version; those of the rest of the code may change later. */
const NOT_ERASED = `"erased" = 'false'`;
const IS_EARLIER = `"run" IS NOT NULL AND "outcome" IN ('authorized', 'running', 'executed', 'failed', 'interrupted')`;

/** Columns that the tables of 0.1.0 get. */
const COLUMNS: Readonly<Record<string, readonly string[]>> = {
  ledger_head: [
    `"frontier" text NOT NULL DEFAULT '${TreeFrontier.empty().text}'`,
    '"schemaVersion" bigint NOT NULL DEFAULT 0',
  ],
  claims: [`"predicateKey" text NOT NULL DEFAULT ''`],
  // Agents are machines or people; those of the first release are machines.
  agents: [`"kind" text NOT NULL DEFAULT 'machine'`, ...optional('observeUntil slackId')],
  policies: [
    ...optional('approval'),
    ...['conditions', 'limits', 'onBehalfOf'].map((name) => `"${name}" text NOT NULL DEFAULT '[]'`),
  ],
  decisions: [
    ...optional('executionId actionHash approvers executeWithin grant onBehalfOf run traceId'),
    `"erased" text NOT NULL DEFAULT 'false'`,
  ],
  executions: [
    ...optional('reason actionHash approvedUntil grantId instead onBehalfOf principal run resourceKey traceId'),
    ...['observed', 'erased'].map((name) => `"${name}" text NOT NULL DEFAULT 'false'`),
  ],
};

/**
 * Columns with which new entries commit to erasable contents by salts; older entries have null and stay unchanged. They
 * are added last, because nobody can read entries from then on until the migration ends.
 */
const ADDED_TO_ENTRIES = [...optional('detailsSalt stateSalt detailsHash'), '"erased" bigint'];

/** Counts agents by kind, including existing ones. */
const COUNT_KINDS =
  `INSERT INTO "ledger_counters" ("name", "value") SELECT 'agents:kind:' || "kind", count(*) FROM "agents" ` +
  'GROUP BY "kind"';

/** Previous index of decisions that can expire, which also covers settled ones. */
const PREVIOUS_DUE = new TableIndex({ columnNames: ['status', 'expiresAt'] });

/**
 * All changes of the schema since 0.1.0, the only release so far, in one transaction for all rooms. Later changes are
 * migrations of the rooms that need them.
 */
export class SinceFirstRelease1765700000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    for (const table of newTables()) await queryRunner.createTable(table);
    for (const [table, columns] of Object.entries(COLUMNS))
      for (const column of columns) await queryRunner.query(`ALTER TABLE "${table}" ADD COLUMN ${column}`);
    // Indexes are created one after another: on SQLite, `createIndices` reads the indexes of a table while it creates
    // others, and sometimes fails.
    for (const [table, indexes] of newIndexes())
      for (const index of indexes) await queryRunner.createIndex(table, new TableIndex(index));
    await queryRunner.dropIndex('decisions', PREVIOUS_DUE);
    await releaseClaims(queryRunner);
    await keyPredicates(queryRunner);
    await queryRunner.query(COUNT_KINDS);
    // Their names may hold contents to erase; a missing counter counts as zero.
    await queryRunner.query('DELETE FROM "ledger_counters" WHERE "value" = 0');
    // Only a running execution has a process, so the column can be verified.
    await queryRunner.query(`UPDATE "executions" SET "runBy" = '' WHERE "runBy" <> '' AND "outcome" <> 'running'`);
    const frontier = await buildTree(queryRunner);
    await queryRunner.query(`UPDATE "ledger_head" SET "frontier" = '${frontier.text}' WHERE "id" = 1`);
    for (const column of ADDED_TO_ENTRIES) await queryRunner.query(`ALTER TABLE "ledger_entries" ADD COLUMN ${column}`);
  }

  /** Fails: the first release would not understand newer records. Restore a backup instead. */
  down(): Promise<void> {
    return Promise.reject(new Error('There is no way back to the schema of 0.1.0: restore a backup from before.'));
  }
}

/** Returns nullable text columns. @param names names separated by spaces */
function optional(names: string): string[] {
  return names.split(' ').map((name) => `"${name}" text`);
}

function newTables(): Table[] {
  return [
    new Table({
      name: 'ledger_tree_nodes',
      columns: [primary(integerColumn('level')), primary(sequenceColumn('position')), textColumn('hash')],
    }),
    new Table({
      name: 'idempotency_keys',
      columns: [primary(textColumn('id')), ...texts('contentHash answer createdAt'), withDefault('subjects', '[]')],
      indices: [{ columnNames: ['createdAt'] }],
    }),
    new Table({ name: 'ledger_leftovers', columns: texts('subjectType ownerId').map(primary) }),
    new Table({ name: 'ledger_sums', columns: [...texts('sum window key').map(primary), textColumn('value')] }),
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
      [
        ...texts('name scopes prefix secretHash status createdAt'),
        ...optionalTexts('agentId expiresAt revokedAt'),
        withDefault('principals', '[]'),
      ],
      [byCreation('status'), byCreation('agentId'), byCreation('status', 'agentId')],
    ),
    governedTable('webhooks', [
      ...texts('url actions description secretHash secrets status createdAt updatedAt'),
      ...optionalTexts('agentId target'),
      withDefault('format', 'event'),
      withDefault('detail', 'full'),
      withDefault('buttons', 'false'),
    ]),
    new Table({
      name: 'webhook_standings',
      columns: [
        primary(textColumn('webhookId')),
        ...['sequence', 'epoch', 'term'].map(sequenceColumn),
        ...['failingSequence', 'replayHead'].map((name) => ({ ...sequenceColumn(name), isNullable: true })),
        integerColumn('attempts'),
        optionalInteger('lastStatus'),
        ...optionalTexts('failingSince failingUrl lastAttemptAt nextAttemptAt'),
      ],
    }),
    new Table({
      name: 'webhook_leases',
      columns: [primary(integerColumn('id')), textColumn('holder'), ...['term', 'until'].map(sequenceColumn)],
    }),
    governedTable(
      'stops',
      [...optionalTexts('agentId role liftedAt'), ...texts('actions reason status createdAt createdBy')],
      [byCreation('status')],
    ),
    governedTable(
      'grants',
      [
        ...texts('agentId decisionId action resourceType resourceId until status createdAt'),
        ...optionalTexts('resources parametersHash onBehalfOf'),
        optionalInteger('uses'),
      ],
      [
        ...['agentId', 'status', 'decisionId'].map((column) => byCreation(column)),
        byCreation('agentId', 'status'),
        { columnNames: ['until', 'id'], where: `"status" = 'active'` },
      ],
    ),
    governedTable('passkeys', texts('agentId name credentialId publicKey rpId createdAt'), [
      byCreation('agentId'),
      byCreation('credentialId'),
    ]),
    governedTable('erasures', [
      ...texts('subjects reason createdAt'),
      ...optionalTexts('completedAt'),
      ...['entries', 'records', 'unsalted'].map(optionalInteger),
    ]),
    new Table({
      name: 'mail_recipients',
      columns: [
        primary(textColumn('agentId')),
        textColumn('email'),
        ...['sequence', 'epoch', 'term'].map(sequenceColumn),
        ...optionalTexts('mailedAt'),
      ],
    }),
  ];
}

function optionalInteger(name: string): TableColumnOptions {
  return { ...integerColumn(name), isNullable: true };
}

function withDefault(name: string, value: string): TableColumnOptions {
  return { ...textColumn(name), default: `'${value}'` };
}

function newIndexes(): [table: string, indexes: TableIndexOptions[]][] {
  return [
    [
      'ledger_entries',
      [
        // Finds everything that one key or token has done.
        { columnNames: ['actorId', 'sequence'] },
        // Finds the last entry about a key, however often its holder was refused since.
        { columnNames: ['subjectId', 'sequence'], where: `"action" <> 'access.denied'` },
      ],
    ],
    ['entities', [byCreation('name')]],
    ['agents', [byCreation('kind'), among('slackId')]],
    [
      'decisions',
      [
        byCreation('executionId'),
        // Covers the decisions that can still expire.
        { columnNames: ['expiresAt', 'id'], where: `"resolvedAt" IS NULL AND "expiresAt" IS NOT NULL` },
        ...['traceId', 'run'].map(among),
        { ...byCreation(), where: NOT_ERASED },
      ],
    ],
    [
      'executions',
      [
        ...['decisionId', 'actionHash', 'resourceType', 'resourceId'].map((column) => byCreation(column)),
        byCreation('actionHash', 'outcome'),
        { columnNames: ['approvedUntil', 'id'], where: `"outcome" = 'approved'` },
        ...['traceId', 'principal', 'run', 'grantId'].map(among),
        { columnNames: ['run', 'agentId', 'action', 'resourceKey'], where: IS_EARLIER },
        { ...byCreation(), where: NOT_ERASED },
      ],
    ],
  ];
}

/** Options of an index for lists that are filtered by a column that is null in most rows. */
function among(column: string): TableIndexOptions {
  return { ...byCreation(column), where: `"${column}" IS NOT NULL` };
}

/**
 * Drops the foreign keys of claims: an entity is removed at once; its claims, which nothing shows any more, are deleted
 * later.
 */
async function releaseClaims(queryRunner: QueryRunner): Promise<void> {
  const table = await queryRunner.getTable('claims');
  for (const key of [...(table?.foreignKeys ?? [])]) await queryRunner.dropForeignKey('claims', key);
}

/**
 * Fills the key by which conditions find claims, in any Unicode form of their predicates. A predicate in ASCII has only
 * one form.
 */
async function keyPredicates(queryRunner: QueryRunner): Promise<void> {
  await queryRunner.query('UPDATE "claims" SET "predicateKey" = "predicate"');
  for (let after: string | undefined = ''; after !== undefined;) {
    const claims = (await queryRunner.query(
      `SELECT "id", "predicate" FROM "claims" WHERE "id" > $1 AND octet_length("predicate") > length("predicate") ORDER BY "id" LIMIT ${CHUNK}`,
      [after],
    )) as { id: string; predicate: string }[];
    for (const { id, predicate } of claims) {
      const key = predicate.normalize('NFC');
      if (key !== predicate)
        await queryRunner.query('UPDATE "claims" SET "predicateKey" = $1 WHERE "id" = $2', [key, id]);
    }
    after = claims.at(-1)?.id;
  }
  await queryRunner.createIndex('claims', new TableIndex(byCreation('entityId', 'predicateKey')));
}

/** Builds the Merkle tree over the entries as they are. Verification, not this migration, finds faults in them. */
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
  // These are numbers and hashes of our own, so nothing needs quoting.
  const values = nodes.map(({ level, position, hash }) => `(${level}, ${position}, '${hash}')`);
  await queryRunner.query(`INSERT INTO "ledger_tree_nodes" ("level", "position", "hash") VALUES ${values.join(', ')}`);
}
