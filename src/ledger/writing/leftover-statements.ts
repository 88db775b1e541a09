import { isErasureSql } from '../chain/stored-entry';
import { quoteName } from '../database/dialect';
import type { SqlStatement } from '../database/sql-connection';
import { ERASED_PREFIX, holdsContentsSql } from '../reading/erasure-reader';
import { isOwnedSql, ownerColumn, type RecordCatalog } from '../records/record-catalog';
import type { RecordCodec } from '../records/record-codec';
import { firstKeys } from '../records/statements';
import { LEFTOVERS } from '../schema/ledger-tables';

/** Most dependent rows deleted, and entries emptied, in one transaction. */
const LEFTOVER_CHUNK = 1_000;

const REMEMBER_LEFTOVER = `INSERT INTO "${LEFTOVERS}" ("subjectType", "ownerId") VALUES ($1, $2) ON CONFLICT DO NOTHING`;

/** Marks an erased record, so that the entries about it are emptied, even if somebody has put their contents back. */
export function emptyEntriesOf(subjectType: string, id: string): SqlStatement {
  return { sql: REMEMBER_LEFTOVER, parameters: [`${ERASED_PREFIX}${subjectType}`, id] };
}

/** Deletes the first rows of the owner `$1`. */
export function deleteChunkSql({ kind, table, longColumns }: RecordCodec): string {
  const condition = `${quoteName(ownerColumn(kind))} = $1`;
  const rows = { table, key: 'id', condition, order: 'createdSequence', longColumns };
  return `DELETE FROM ${quoteName(table)} WHERE "id" IN (${firstKeys(rows, LEFTOVER_CHUNK)})`;
}

/** Remembers the removed owner `$2` of rows of the kind `$1` if some of its rows are left. */
export function rememberLeftoverSql({ kind, table }: RecordCodec): string {
  return (
    `INSERT INTO "${LEFTOVERS}" ("subjectType", "ownerId") SELECT CAST($1 AS text), CAST($2 AS text) WHERE EXISTS ` +
    `(SELECT 1 FROM ${quoteName(table)} WHERE ${quoteName(ownerColumn(kind))} = $2) ON CONFLICT DO NOTHING`
  );
}

/**
 * Selects a removed owner with rows to delete. Skips an owner that still exists, even if somebody put it in the
 * leftovers table.
 */
export function selectLeftoverSql({ kind }: RecordCodec, owners: RecordCodec): string {
  return (
    `SELECT "ownerId" FROM "${LEFTOVERS}" WHERE "subjectType" = '${kind.subjectType}' AND NOT EXISTS ` +
    `(SELECT 1 FROM ${quoteName(owners.table)} AS owner WHERE owner."id" = "ownerId") LIMIT 1`
  );
}

/** Removes the owner `$2` of rows of the kind `$1` from the leftovers table, once no such row is left. */
export function forgetLeftoverSql({ kind, table }: RecordCodec): string {
  return (
    `DELETE FROM "${LEFTOVERS}" WHERE "subjectType" = $1 AND "ownerId" = $2 AND NOT EXISTS ` +
    `(SELECT 1 FROM ${quoteName(table)} WHERE ${quoteName(ownerColumn(kind))} = $2)`
  );
}

const LAST_ERASURE =
  `SELECT max("sequence") FROM "ledger_entries" AS entry WHERE entry."subjectId" = leftover."ownerId" ` +
  `AND '${ERASED_PREFIX}' || entry."subjectType" = leftover."subjectType" AND ${isErasureSql('entry.')}`;
/**
 * Selects the next erased record whose entries still hold contents. A record only counts as erased if an entry records
 * it.
 */
export const SELECT_ERASED =
  `SELECT * FROM (SELECT leftover."subjectType", leftover."ownerId", (${LAST_ERASURE}) AS "sequence" FROM "${LEFTOVERS}" AS leftover ` +
  `WHERE leftover."subjectType" LIKE '${ERASED_PREFIX}%') AS erased WHERE "sequence" IS NOT NULL LIMIT 1`;

export interface ErasedRecord {
  /** The record's type in the leftovers table, for example `erased execution`. */
  readonly subjectType: string;
  readonly ownerId: string;
  /** Sequence of the last entry that records the erasure. */
  readonly sequence: number;
}

/**
 * Empties the next entries about the record `$1` before `$2`, the entry that erased it, and, for an entity, those about
 * its claims. No other statement removes contents from an entry or changes one. Hashes, position, time, and who did
 * what to which record stay. The emptied entry names the first later entry that records the erasure, so emptying it
 * again gives the same row.
 */
export function eraseContentsSql(catalog: RecordCatalog): string {
  const entries = {
    ...{ table: 'ledger_entries', key: 'sequence', order: 'sequence' },
    ...{ condition: unemptiedEntry(catalog), longColumns: ['details', 'state'] },
  };
  return (
    `UPDATE "ledger_entries" SET "details" = 'null', "ip" = NULL, "reason" = NULL, "requestId" = NULL, "state" = NULL, ` +
    `"detailsSalt" = NULL, "stateSalt" = NULL, "erased" = (SELECT min(erasure."sequence") FROM "ledger_entries" AS erasure ` +
    `WHERE erasure."subjectId" = $1 AND erasure."sequence" > "ledger_entries"."sequence" AND ${isErasureSql('erasure.')}) ` +
    `WHERE "sequence" IN (${firstKeys(entries, LEFTOVER_CHUNK)})`
  );
}

/** Removes the record `$1`, of the type `$3`, from the leftovers table, once its entries hold no more contents. */
export function forgetErasedSql(catalog: RecordCatalog): string {
  const unemptied = `SELECT 1 FROM "ledger_entries" WHERE ${unemptiedEntry(catalog)}`;
  return `DELETE FROM "${LEFTOVERS}" WHERE "subjectType" = $3 AND "ownerId" = $1 AND NOT EXISTS (${unemptied})`;
}

function unemptiedEntry(catalog: RecordCatalog): string {
  return (
    `("subjectId" = $1 OR ("entityId" = $1 AND ${isOwnedSql(catalog)})) ` +
    `AND "sequence" < $2 AND ${holdsContentsSql()}`
  );
}
