import type { SqlValue } from '../database/sql-connection';
import type { HeadRow } from '../ledger/derived-data-reader';
import { SCHEMA_VERSION } from '../ledger/schema-version';
import { FIRST_ULID, isUlid } from '../ledger/ulid-sequence';

const BEGINNING = new Date(0).toISOString();

/**
 * Columns of the head record that cannot be right. Where the chain ends (sequence and hash) is for the check of the chain
 * to tell; here it is the ledger's clock, its last identifier, and the mark by which processes follow one another.
 */
export function wrongHeadColumns(head: HeadRow | undefined): string[] {
  if (head === undefined) return ['id'];
  const { sequence, timestamp, lastUlid, effectSequence, heads, lastEffect, entryId, entryTimestamp } = head;
  const lastMinted = entryId?.slice(entryId.indexOf('_') + 1) ?? FIRST_ULID;
  const isMinted = isUlid(lastUlid) && lastUlid >= lastMinted;
  const isFollowed = isInteger(effectSequence) && effectSequence >= lastEffect && effectSequence <= Number(sequence);
  return [
    ...(heads === 1 ? [] : ['id']),
    ...(timestamp === (entryTimestamp ?? BEGINNING) ? [] : ['timestamp']),
    ...(isMinted ? [] : ['lastUlid']),
    ...(isFollowed ? [] : ['effectSequence']),
    ...(head.schemaVersion === SCHEMA_VERSION ? [] : ['schemaVersion']),
  ];
}

/** A column of SQLite takes values of any type. */
function isInteger(value: SqlValue): value is number {
  return Number.isSafeInteger(value);
}
