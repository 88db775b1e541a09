import type { SqlValue } from '../database/sql-connection';
import type { RecordCodec } from '../ledger/records/record-codec';
import { isStoredText } from '../ledger/records/stored-form';

/** A record as its table has it, next to what the ledger says of it at the same moment. */
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
  /** False when the record it belongs to is not there. */
  readonly hasOwner: boolean;
  /** True when its owner was removed, and it is still to be deleted. */
  readonly isLeftover: boolean;
  /** What filters find it by: the items of its lists, each with the sequence it is listed at. */
  readonly items: readonly (readonly SqlValue[])[];
}

/** A record that is not there although its last entry left a state. */
export interface MissingRecord {
  readonly codec: RecordCodec;
  readonly id: string;
  /** The id of the record it belongs to, with which it may have gone; null where that is not known. */
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

/** Items that cannot be read are shown by one that no record has. */
function itemsIn(text: SqlValue): SqlValue[][] {
  if (text === null) return [];
  return isStoredText(text) ? (JSON.parse(text) as SqlValue[][]) : [[null]];
}
