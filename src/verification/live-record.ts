import type { SqlValue } from '../database/sql-connection';
import type { RecordCodec } from '../ledger/records/record-codec';
import { isStoredText } from '../ledger/records/stored-form';

/** A record as stored in its table, next to what the ledger says about it in the same snapshot. */
export interface LiveRecord {
  readonly codec: RecordCodec;
  /** In the order of the codec's columns. */
  readonly values: readonly SqlValue[];
  /** The entry that created it; null: there is none. */
  readonly firstSequence: SqlValue;
  /** Of its last entry. */
  readonly subjectType: SqlValue;
  readonly stateHash: SqlValue;
  readonly entityId: SqlValue;
  /** False if the record it belongs to does not exist. */
  readonly hasOwner: boolean;
  /** True if its owner was removed, and it is still to be deleted. */
  readonly isLeftover: boolean;
  /** What filters find it by: the items of its lists, each with the sequence it is listed at. */
  readonly items: readonly (readonly SqlValue[])[];
}

/** A record that does not exist although its last entry left a state. */
export interface MissingRecord {
  readonly codec: RecordCodec;
  readonly id: string;
  /** The id of its owner, with which it may have been removed; null if it is not known. */
  readonly ownerId: string | null;
}

/** From a row of a query of `liveRecordsSql`. */
export function liveRecord(codec: RecordCodec, row: readonly SqlValue[]): LiveRecord {
  const width = codec.columns.length;
  const [
    firstSequence = null,
    subjectType = null,
    stateHash = null,
    entityId = null,
    owners = null,
    leftovers = null,
    items = null,
  ] = row.slice(width);
  return {
    codec,
    values: row.slice(0, width),
    firstSequence,
    subjectType,
    stateHash,
    entityId,
    hasOwner: Number(owners) > 0,
    isLeftover: Number(leftovers) > 0,
    items: itemsIn(items),
  };
}

/** Unreadable items are represented by one that no record has. */
function itemsIn(text: SqlValue): SqlValue[][] {
  if (text === null) return [];
  return isStoredText(text) ? (JSON.parse(text) as SqlValue[][]) : [[null]];
}
