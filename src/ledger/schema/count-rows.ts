import type { QueryRunner } from 'typeorm';
import { quoted } from '../database/dialect';
import { LIST_ITEMS } from '../records/statements';

/** For migrations: starts counting the rows of a table by the values of columns, including existing rows. */
export async function countRows(
  queryRunner: QueryRunner,
  table: string,
  counter: string,
  columns: readonly string[],
): Promise<void> {
  for (const column of columns.map(quoted)) {
    await queryRunner.query(
      `INSERT INTO "ledger_counters" ("name", "value") SELECT '${counter}:${column.slice(1, -1)}:' || ${column}, count(*) ` +
        `FROM ${quoted(table)} WHERE ${column} IS NOT NULL GROUP BY ${column}`,
    );
  }
}

/** For migrations: starts counting records by the items of their lists, including items already indexed. */
export async function countItems(queryRunner: QueryRunner, counter: string): Promise<void> {
  await queryRunner.query(
    `INSERT INTO "ledger_counters" ("name", "value") SELECT "item", count(*) FROM ${quoted(LIST_ITEMS)} ` +
      `WHERE "item" LIKE '${counter}:%' GROUP BY "item"`,
  );
}
