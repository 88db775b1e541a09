import { quoted } from '../database/dialect';
import type { SqlStatement } from '../database/sql-connection';
import { ownerColumn } from '../records/record-catalog';
import type { RecordCodec } from '../records/record-codec';
import { LEFTOVERS } from '../schema/ledger-tables';

/** Most dependent rows deleted in one transaction: takes some milliseconds. */
export const LEFTOVER_CHUNK = 1_000;

/** Before the kind of a record whose entries still hold what was erased. */
export const ERASED = 'erased ';

export const REMEMBER_LEFTOVER = `INSERT INTO "${LEFTOVERS}" ("subjectType", "ownerId") VALUES ($1, $2) ON CONFLICT DO NOTHING`;

/** Has the entries about an erased record emptied, perhaps once more: somebody may have put back what they held. */
export function emptyEntriesOf(subjectType: string, id: string): SqlStatement {
  return { sql: REMEMBER_LEFTOVER, parameters: [`${ERASED}${subjectType}`, id] };
}

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

/**
 * The next erased record whose entries still hold something. Only an entry that records the erasure makes a record an
 * erased one. SQLite would read all entries first, if this were not a CROSS JOIN.
 */
export const SELECT_ERASED =
  `SELECT gone."subjectType", gone."ownerId", entry."sequence" FROM "${LEFTOVERS}" AS gone ` +
  `CROSS JOIN "ledger_entries" AS entry WHERE gone."subjectType" LIKE '${ERASED}%' AND entry."subjectId" = gone."ownerId" ` +
  `AND '${ERASED}' || replace(entry."action", '.erased', '') = gone."subjectType" AND entry."action" LIKE '%.erased' ` +
  `AND NOT EXISTS (SELECT 1 FROM "ledger_entries" AS later WHERE later."subjectId" = gone."ownerId" ` +
  `AND later."sequence" > entry."sequence" AND later."action" LIKE '%.erased') LIMIT 1`;

/** True for an entry about an erased record that was not emptied, and does not itself record an erasure. */
export function holdsContentsSql(alias = ''): string {
  return `${alias}"erased" IS NULL AND ${alias}"action" NOT LIKE '%.erased'`;
}

/** True for an `entry` about the record of the entry `gone`, or about a claim of that entity. */
export const IS_ABOUT_GONE =
  `(entry."subjectId" = gone."subjectId" OR (gone."subjectType" = 'entity' ` +
  `AND entry."entityId" = gone."subjectId" AND entry."subjectType" = 'claim'))`;

export interface ErasedRecord {
  /** Of the table of leftovers: `erased execution`. */
  readonly subjectType: string;
  readonly ownerId: string;
  /** Of the last entry that says that it was erased. */
  readonly sequence: number;
}

/**
 * Entries about the record `$1` before `$2`, the one that erased it, which stays itself; of an entity also those about its
 * claims. No other record has claims.
 */
const LEFT_OF_ERASED =
  `SELECT "sequence" FROM "ledger_entries" WHERE ("subjectId" = $1 OR ("entityId" = $1 AND "subjectType" = 'claim')) ` +
  `AND "sequence" < $2 AND ${holdsContentsSql()}`;

/**
 * The only statement that takes anything from an entry, or changes one. Its hashes stay, and so do its place, its time,
 * and who did what to which record. The emptied entry names the first later entry that records the erasure, so emptying
 * it again gives the same row.
 */
export const ERASE_CONTENTS =
  `UPDATE "ledger_entries" SET "details" = 'null', "ip" = NULL, "reason" = NULL, "requestId" = NULL, "state" = NULL, ` +
  `"detailsSalt" = NULL, "stateSalt" = NULL, "erased" = (SELECT min(said."sequence") FROM "ledger_entries" AS said ` +
  `WHERE said."subjectId" = $1 AND said."sequence" > "ledger_entries"."sequence" AND said."action" LIKE '%.erased') ` +
  `WHERE "sequence" IN (${LEFT_OF_ERASED} ORDER BY "sequence" LIMIT ${LEFTOVER_CHUNK})`;

/** Removes the record, of the kind `$3`, from the table once its entries hold nothing more. */
export const FORGET_ERASED = `DELETE FROM "${LEFTOVERS}" WHERE "subjectType" = $3 AND "ownerId" = $1 AND NOT EXISTS (${LEFT_OF_ERASED})`;
