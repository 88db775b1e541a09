import { Injectable } from '@nestjs/common';
import { erasureAction, isErasureSql } from '../chain/stored-entry';
import { Database } from '../database/database';
import { isOwnedSql, RecordCatalog } from '../records/record-catalog';
import { LEFTOVERS } from '../schema/ledger-tables';
import { entryRanges } from './chunks';

/** Prefix of `subjectType` in the leftovers table. It marks an erased record that still has entries with contents. */
export const ERASED_PREFIX = 'erased ';

/**
 * Returns the SQL condition for entries that are not emptied and do not record an erasure.
 * @param alias table alias with a dot, for example `entry.`
 */
export function holdsContentsSql(alias = ''): string {
  return `${alias}"erased" IS NULL AND NOT (${isErasureSql(alias)})`;
}

const SELECT_LEFTOVER = `SELECT 1 AS "leftover" FROM "${LEFTOVERS}" WHERE "subjectType" LIKE '${ERASED_PREFIX}%' LIMIT 1`;

/** Numbers of records and entries that erasures emptied. */
interface EmptiedCounts {
  /** Number of erased records. */
  readonly records: number;
  /** Number of emptied entries about these records and, if a record is an entity, about its claims. */
  readonly entries: number;
  /** Number of those entries that have version 1, whose hashed contents have no salt. */
  readonly unsalted: number;
}

/** Reads which entries about erased records were emptied, and which still have contents. */
@Injectable()
export class ErasureReader {
  private readonly selectEmptied: string;
  private readonly selectRestored: string;

  constructor(
    private readonly database: Database,
    catalog: RecordCatalog,
  ) {
    this.selectEmptied = emptiedSql(catalog);
    this.selectRestored = restoredSql(catalog);
  }

  /** True while some entries about erased records are not emptied. */
  async isUnderWay(): Promise<boolean> {
    return (await this.database.points.all(SELECT_LEFTOVER)).length > 0;
  }

  /**
   * Counts the records and entries that were emptied by erasures whose details contain `id`. Reads only erasure entries
   * with a sequence greater than `after` and at most `upTo`.
   */
  async countEmptied(id: string, after: number, upTo: number): Promise<EmptiedCounts> {
    const [counts] = await this.database.points.all<EmptiedCounts>(this.selectEmptied, [after, upTo, `%"${id}"%`]);
    if (counts === undefined) throw new Error('An aggregate query returned no row.');
    return counts;
  }

  /**
   * Returns the sequences of entries whose erased contents somebody has put back. Leaves out entries of records that
   * the service is still emptying.
   * @param subjectTypes types of the erased records
   */
  async restoredEntries(subjectTypes: readonly string[]): Promise<ReadonlySet<number>> {
    const { chain } = this.database;
    const restored = new Set<number>();
    for (const action of subjectTypes.map(erasureAction)) {
      for await (const bounds of entryRanges(chain, { action })) {
        const rows = await chain.all<{ sequence: number }>(this.selectRestored, [...bounds, action]);
        for (const { sequence } of rows) restored.add(sequence);
      }
    }
    return restored;
  }
}

/**
 * Returns the SQL condition that `entry` is about the record that `erasure` erased, or about a record that belonged to
 * this record if it was an entity.
 */
function isAboutErasedSql(catalog: RecordCatalog): string {
  return `(entry."subjectId" = erasure."subjectId" OR (entry."entityId" = erasure."subjectId" AND ${isOwnedSql(catalog, 'entry.')}))`;
}

function emptiedSql(catalog: RecordCatalog): string {
  return (
    `SELECT count(DISTINCT erasure."sequence") AS "records", count(entry."sequence") AS "entries", ` +
    `count(CASE WHEN entry."v" = 1 THEN 1 END) AS "unsalted" FROM "ledger_entries" AS erasure ` +
    `LEFT JOIN "ledger_entries" AS entry ON entry."erased" = erasure."sequence" AND ${isAboutErasedSql(catalog)} ` +
    `WHERE erasure."sequence" > $1 AND erasure."sequence" <= $2 AND ${isErasureSql('erasure.')} AND erasure."details" LIKE $3`
  );
}

/**
 * Selects entries that hold contents although an erasure entry after sequence `$1`, up to `$2`, with the action `$3`,
 * erased their record, and the leftovers table does not list the record as pending.
 */
function restoredSql(catalog: RecordCatalog): string {
  return (
    `SELECT entry."sequence" FROM "ledger_entries" AS erasure JOIN "ledger_entries" AS entry ON ${isAboutErasedSql(catalog)} ` +
    `AND entry."sequence" < erasure."sequence" WHERE erasure."action" = $3 AND ${isErasureSql('erasure.')} ` +
    `AND erasure."sequence" > $1 AND erasure."sequence" <= $2 AND ${holdsContentsSql('entry.')} ` +
    `AND NOT EXISTS (SELECT 1 FROM "${LEFTOVERS}" AS leftover ` +
    `WHERE leftover."subjectType" = '${ERASED_PREFIX}' || erasure."subjectType" AND leftover."ownerId" = erasure."subjectId")`
  );
}
