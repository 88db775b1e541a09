import { type Dialect, quoteName } from '../../ledger/database/dialect';
import { POSTGRES_DIALECT } from '../../ledger/database/postgres/postgres-database';
import type { SqlConnection } from '../../ledger/database/sql-connection';
import { UsedSums, takenAmounts } from '../../governance/policies/limits/used-sums';
import { leafHash, TreeFrontier, type TreeNode } from '../../ledger/merkle/tree';
import { ENTRIES_COUNTED_BY, ENTRY_COUNTER } from '../../ledger/records/counters';
import type { RecordCodec } from '../../ledger/records/record-codec';
import { insertRows, LIST_ITEMS } from '../../ledger/records/statements';
import { LEFTOVERS } from '../../ledger/schema/ledger-tables';
import { RAISE_VERSION } from '../../ledger/schema/schema-version';
import { ledgerSql } from '../../ledger/writing/ledger-sql';

/** Most entries that one statement reads, and most sums that one statement writes. */
const CHUNK = 5_000;

const NODE_COLUMNS = [
  { name: 'level', type: 'integer' },
  { name: 'position', type: 'integer' },
  { name: 'hash', type: 'text' },
] as const;

/** Rebuilds the counters, list items, sums and the Merkle tree from records and entries. */
export async function rebuildDerivedData(connection: SqlConnection, kinds: readonly RecordCodec[]): Promise<void> {
  for (const sql of rebuildingStatements(kinds)) await connection.run(sql);
  await rebuildSums(connection, POSTGRES_DIALECT);
  await rebuildTree(connection);
  await connection.run(RAISE_VERSION);
}

/** Returns the statements that rebuild counters and list items in a PostgreSQL database. */
export function rebuildingStatements(kinds: readonly RecordCodec[]): string[] {
  return [
    ...['ledger_counters', LIST_ITEMS, 'ledger_sums', 'ledger_tree_nodes'].map(
      (table) => `DELETE FROM ${quoteName(table)}`,
    ),
    ...kinds.flatMap(listItemStatements),
    ...ENTRIES_COUNTED_BY.map((column) => countByValue('ledger_entries', ENTRY_COUNTER, column, 'TRUE')),
    ...kinds.flatMap(counterStatements),
  ];
}

/** Returns the condition for counted rows, without rows that are still to be deleted with their owner. */
function countedCondition({ kind: { owner, subjectType } }: RecordCodec): string {
  if (owner === undefined) return 'TRUE';
  return (
    `NOT EXISTS (SELECT 1 FROM "${LEFTOVERS}" AS gone WHERE gone."subjectType" = '${subjectType}' ` +
    `AND gone."ownerId" = live.${quoteName(owner.column)})`
  );
}

function counterStatements(codec: RecordCodec): string[] {
  const { counter, countedBy = [], listColumns = [] } = codec.kind;
  const condition = countedCondition(codec);
  return [
    `INSERT INTO "ledger_counters" ("name", "value") SELECT '${counter}', count(*) FROM ${quoteName(codec.table)} AS live ` +
      `WHERE ${condition} HAVING count(*) > 0`,
    ...countedBy.map((column) => countByValue(codec.table, counter, column, condition)),
    ...listColumns.map(
      (column) =>
        `INSERT INTO "ledger_counters" ("name", "value") SELECT '${counter}:${column}:' || item.value, count(DISTINCT live."id") ` +
        `FROM ${quoteName(codec.table)} AS live, ${itemsOf(column)} WHERE ${condition} GROUP BY 1`,
    ),
  ];
}

function countByValue(table: string, counter: string, column: string, condition: string): string {
  const name = quoteName(column);
  return (
    `INSERT INTO "ledger_counters" ("name", "value") SELECT '${counter}:${column}:' || live.${name}, count(*) ` +
    `FROM ${quoteName(table)} AS live WHERE live.${name} IS NOT NULL AND ${condition} GROUP BY 1`
  );
}

function listItemStatements({ table, kind: { counter, listColumns = [] } }: RecordCodec): string[] {
  return listColumns.map(
    (column) =>
      `INSERT INTO ${quoteName(LIST_ITEMS)} ("item", "createdSequence", "recordId") ` +
      `SELECT DISTINCT '${counter}:${column}:' || item.value, live."createdSequence", live."id" ` +
      `FROM ${quoteName(table)} AS live, ${itemsOf(column)}`,
  );
}

/** SQL for the texts of the JSON list in a column. */
function itemsOf(column: string): string {
  return `json_array_elements_text(live.${quoteName(column)}::json) AS item(value)`;
}

async function rebuildSums(connection: SqlConnection, dialect: Dialect): Promise<void> {
  const sums = new UsedSums();
  for await (const amounts of takenAmounts(connection)) for (const amount of amounts) sums.add(amount);
  const { rows } = sums;
  for (let start = 0; start < rows.length; start += CHUNK)
    await connection.run(ledgerSql(dialect).keepSums, [JSON.stringify(rows.slice(start, start + CHUNK))]);
}

async function rebuildTree(connection: SqlConnection): Promise<void> {
  const frontier = TreeFrontier.empty();
  const insertNodes = insertRows(POSTGRES_DIALECT, 'ledger_tree_nodes', NODE_COLUMNS);
  const select = `SELECT "sequence", "hash" FROM "ledger_entries" WHERE "sequence" > $1 ORDER BY "sequence" LIMIT ${CHUNK}`;
  for (let after: number | undefined = Number.MIN_SAFE_INTEGER; after !== undefined;) {
    const entries: { sequence: number; hash: string }[] = await connection.all(select, [after]);
    const nodes: TreeNode[] = [];
    for (const { hash } of entries) frontier.append(leafHash(hash), nodes);
    const rows = nodes.map(({ level, position, hash }) => [level, position, hash]);
    if (rows.length > 0) await connection.run(insertNodes, [JSON.stringify(rows)]);
    after = entries.at(-1)?.sequence;
  }
  await connection.run('UPDATE "ledger_head" SET "frontier" = $1 WHERE "id" = 1', [frontier.text]);
}
