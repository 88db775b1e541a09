import { quoted } from '../../database/dialect';
import { LEFTOVERS } from '../schema/ledger-leftover.entity';
import { ownerColumn } from '../records/owner';
import type { RecordCodec } from '../records/record-codec';

/** Most dependent rows deleted in one transaction: takes some milliseconds. */
export const LEFTOVER_CHUNK = 1_000;

export const REMEMBER_LEFTOVER = `INSERT INTO "${LEFTOVERS}" ("subjectType", "ownerId") VALUES ($1, $2)`;

/** Deletes the first rows of the owner `$1`. */
export function deleteChunkSql({ kind, table }: RecordCodec): string {
  const chunk =
    `SELECT "id" FROM ${quoted(table)} WHERE ${quoted(ownerColumn(kind))} = $1 ` +
    `ORDER BY "createdSequence" LIMIT ${LEFTOVER_CHUNK}`;
  return `DELETE FROM ${quoted(table)} WHERE "id" IN (${chunk})`;
}

/** A removed owner with rows to delete. If the owner still exists, nothing is deleted, whoever put it in the table. */
export function selectLeftoverSql({ kind }: RecordCodec, owners: RecordCodec): string {
  return (
    `SELECT "ownerId" FROM "${LEFTOVERS}" WHERE "subjectType" = '${kind.subjectType}' AND NOT EXISTS ` +
    `(SELECT 1 FROM ${quoted(owners.table)} AS owner WHERE owner."id" = "ownerId") LIMIT 1`
  );
}

/** Removes the owner `$2` of rows of the kind `$1` from the table, once none of them is left. */
export function forgetLeftoverSql({ kind, table }: RecordCodec): string {
  return (
    `DELETE FROM "${LEFTOVERS}" WHERE "subjectType" = $1 AND "ownerId" = $2 AND NOT EXISTS ` +
    `(SELECT 1 FROM ${quoted(table)} WHERE ${quoted(ownerColumn(kind))} = $2)`
  );
}
