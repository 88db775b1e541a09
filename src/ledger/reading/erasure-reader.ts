import { Injectable } from '@nestjs/common';
import { erasureAction, isErasureSql } from '../chain/stored-entry';
import { Database } from '../database/database';
import { isOwnedSql, RecordCatalog } from '../records/record-catalog';
import { LEFTOVERS } from '../schema/ledger-tables';
import { entryRanges } from './chunks';

/** Before the kind of a record in the table of leftovers: its entries still hold what was erased. */
export const ERASED = 'erased ';

/** True for an entry about an erased record that was not emptied, and does not itself record an erasure. */
export function holdsContentsSql(alias = ''): string {
  return `${alias}"erased" IS NULL AND NOT (${isErasureSql(alias)})`;
}

const SELECT_LEFT = `SELECT 1 AS "left" FROM "${LEFTOVERS}" WHERE "subjectType" LIKE '${ERASED}%' LIMIT 1`;

/** The entries that an erasure emptied. */
interface EmptiedCounts {
  /** Records that it took. */
  readonly records: number;
  /** Emptied entries about these, and about the claims of entities. */
  readonly entries: number;
  /** Those of version 1 among them. */
  readonly unsalted: number;
}

/** Reads what is left of erased records in their entries. */
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

  /** True while entries about erased records are still to be emptied. */
  async isUnderWay(): Promise<boolean> {
    return (await this.database.points.all(SELECT_LEFT)).length > 0;
  }

  /** Counts what was emptied by the erasures that name an id in their details, among the entries after one sequence, up to another. */
  async emptied(id: string, after: number, upTo: number): Promise<EmptiedCounts> {
    const [counts] = await this.database.points.all<EmptiedCounts>(this.selectEmptied, [after, upTo, `%"${id}"%`]);
    if (counts === undefined) throw new Error('An aggregate query returned no row.');
    return counts;
  }

  /**
   * The sequences of entries whose contents somebody has put back after they were erased. Where the service is still
   * emptying entries there are none.
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

/** Entries about the records that were erased after `$1`, up to `$2`, and hold contents although nothing more is to be done. */
function restoredSql(catalog: RecordCatalog): string {
  return (
    `SELECT entry."sequence" FROM "ledger_entries" AS gone JOIN "ledger_entries" AS entry ON ${isAboutGoneSql(catalog)} ` +
    `AND entry."sequence" < gone."sequence" WHERE gone."action" = $3 AND ${isErasureSql('gone.')} ` +
    `AND gone."sequence" > $1 AND gone."sequence" <= $2 AND ${holdsContentsSql('entry.')} ` +
    `AND NOT EXISTS (SELECT 1 FROM "${LEFTOVERS}" AS waiting ` +
    `WHERE waiting."subjectType" = '${ERASED}' || gone."subjectType" AND waiting."ownerId" = gone."subjectId")`
  );
}
