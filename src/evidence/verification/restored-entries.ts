import type { SqlSessions } from '../../ledger/database/sql-connection';
import { entryRanges } from '../../ledger/reading/chunks';
import { LEFTOVERS } from '../../ledger/schema/ledger-tables';
import { ERASED, holdsContentsSql } from '../../ledger/writing/leftover-statements';
import { ERASABLE_TYPES, type ErasableType } from '../erasures/erasure.entity';

/**
 * The sequences of entries whose contents somebody has put back after they were erased. Where the service is still
 * emptying entries there are none.
 */
export async function restoredEntries(chain: SqlSessions): Promise<ReadonlySet<number>> {
  const found = new Set<number>();
  for (const type of ERASABLE_TYPES) {
    for await (const bounds of entryRanges(chain, { action: `${type}.erased` })) {
      for (const about of entriesAbout(type)) {
        const rows = await chain.all<{ sequence: number }>(restoredSql(type, about), bounds);
        for (const { sequence } of rows) found.add(sequence);
      }
    }
  }
  return found;
}

/** Conditions for the entries about the record that is `gone`; of an entity also those about its claims. */
function entriesAbout(type: ErasableType): string[] {
  const own = `entry."subjectId" = gone."subjectId"`;
  return type === 'entity' ? [own, `entry."entityId" = gone."subjectId" AND entry."subjectType" = 'claim'`] : [own];
}

/** Entries about the records that were erased after `$1`, up to `$2`, and hold contents although nothing more is to be done. */
function restoredSql(type: ErasableType, about: string): string {
  return (
    `SELECT entry."sequence" FROM "ledger_entries" AS gone JOIN "ledger_entries" AS entry ON ${about} ` +
    `AND entry."sequence" < gone."sequence" WHERE gone."action" = '${type}.erased' ` +
    `AND gone."sequence" > $1 AND gone."sequence" <= $2 AND ${holdsContentsSql('entry.')} ` +
    `AND NOT EXISTS (SELECT 1 FROM "${LEFTOVERS}" AS waiting ` +
    `WHERE waiting."subjectType" = '${ERASED}${type}' AND waiting."ownerId" = gone."subjectId")`
  );
}
