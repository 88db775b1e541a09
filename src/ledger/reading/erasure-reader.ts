import { Injectable } from '@nestjs/common';
import { erasureAction, isErasureSql } from '../chain/stored-entry';
import { Database } from '../database/database';
import { isOwnedSql, RecordCatalog } from '../records/record-catalog';
import { LEFTOVERS } from '../schema/ledger-tables';
import { entryRanges } from './chunks';

/** Prefix of a kind in the table of leftovers, for an erased record whose entries still hold contents. */
export const ERASED = 'erased ';

/** True for an entry about an erased record that was not emptied, and does not itself record an erasure. */
export function holdsContentsSql(alias = ''): string {
  return `${alias}"erased" IS NULL AND NOT (${isErasureSql(alias)})`;
}

const SELECT_LEFT = `SELECT 1 AS "left" FROM "${LEFTOVERS}" WHERE "subjectType" LIKE '${ERASED}%' LIMIT 1`;

/** Number of records and entries that an erasure emptied. */
interface EmptiedCounts {
  /** Number of erased records. */
  readonly records: number;
  /** Number of emptied entries about these records, and about the claims of entities. */
  readonly entries: number;
  /** Number of those entries that are of version 1. */
  readonly unsalted: number;
}

/** Reads what the entries of erased records still contain. */
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

  /** True while some entries about erased records are not emptied yet. */
  async isUnderWay(): Promise<boolean> {
    return (await this.database.points.all(SELECT_LEFT)).length > 0;
  }

  /**
   * Counts the records and entries emptied by erasures that name an id in their details, among the entries after
   * `after`, up to `upTo`.
   */
  async emptied(id: string, after: number, upTo: number): Promise<EmptiedCounts> {
    const [counts] = await this.database.points.all<EmptiedCounts>(this.selectEmptied, [after, upTo, `%"${id}"%`]);
    if (counts === undefined) throw new Error('An aggregate query returned no row.');
    return counts;
  }

  /**
   * Returns the sequences of entries whose erased contents somebody has put back. Empty while the service is still
   * emptying entries.
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

/** True for an `entry` about the record of the entry `gone`, or about a record that belonged to that entity. */
function isAboutGoneSql(catalog: RecordCatalog): string {
  return `(entry."subjectId" = gone."subjectId" OR (entry."entityId" = gone."subjectId" AND ${isOwnedSql(catalog, 'entry.')}))`;
}

function emptiedSql(catalog: RecordCatalog): string {
  return (
    `SELECT count(DISTINCT gone."sequence") AS "records", count(entry."sequence") AS "entries", ` +
    `count(CASE WHEN entry."v" = 1 THEN 1 END) AS "unsalted" FROM "ledger_entries" AS gone ` +
    `LEFT JOIN "ledger_entries" AS entry ON entry."erased" = gone."sequence" AND ${isAboutGoneSql(catalog)} ` +
    `WHERE gone."sequence" > $1 AND gone."sequence" <= $2 AND ${isErasureSql('gone.')} AND gone."details" LIKE $3`
  );
}

/**
 * Selects the entries about records erased after `$1`, up to `$2`, that hold contents although no erasure is pending.
 */
function restoredSql(catalog: RecordCatalog): string {
  return (
    `SELECT entry."sequence" FROM "ledger_entries" AS gone JOIN "ledger_entries" AS entry ON ${isAboutGoneSql(catalog)} ` +
    `AND entry."sequence" < gone."sequence" WHERE gone."action" = $3 AND ${isErasureSql('gone.')} ` +
    `AND gone."sequence" > $1 AND gone."sequence" <= $2 AND ${holdsContentsSql('entry.')} ` +
    `AND NOT EXISTS (SELECT 1 FROM "${LEFTOVERS}" AS waiting ` +
    `WHERE waiting."subjectType" = '${ERASED}' || gone."subjectType" AND waiting."ownerId" = gone."subjectId")`
  );
}
