import { Injectable } from '@nestjs/common';
import { Database } from '../../ledger/database/database';
import { LEFTOVERS } from '../../ledger/schema/ledger-tables';
import { ERASED, holdsContentsSql } from '../../ledger/writing/leftovers';
import { ERASABLE_TYPES, type ErasableType } from '../erasures/erasure.entity';

/** Entries that erased a record, at once. */
const CHUNK_ERASED = 1_000;

/** Where the next of them with the action `$1` end, after `$2`. */
const EXTENT =
  `SELECT max("sequence") AS "last" FROM (SELECT "sequence" FROM "ledger_entries" WHERE "action" = $1 ` +
  `AND "sequence" > $2 AND "sequence" <= ${Number.MAX_SAFE_INTEGER} ORDER BY "sequence" LIMIT ${CHUNK_ERASED}) AS chunk`;

/** Finds entries whose contents somebody has put back after they were erased. */
@Injectable()
export class RestoredEntries {
  constructor(private readonly database: Database) {}

  /** Their sequences. Where the service is still emptying entries there are none. */
  async all(): Promise<ReadonlySet<number>> {
    const { chain } = this.database;
    const found = new Set<number>();
    for (const type of ERASABLE_TYPES) {
      for (let after = Number.MIN_SAFE_INTEGER; ;) {
        const [extent] = await chain.all<{ last: number | null }>(EXTENT, [`${type}.erased`, after]);
        const last = extent?.last ?? null;
        if (last === null) break;
        for (const about of entriesAbout(type)) {
          const rows = await chain.all<{ sequence: number }>(restoredSql(type, about), [after, last]);
          for (const { sequence } of rows) found.add(sequence);
        }
        after = last;
      }
    }
    return found;
  }
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
