import type { LedgerPosition } from '../chain/ledger-position';
import { isTreeHash, TreeFrontier } from '../merkle/tree';
import { SCHEMA_VERSION } from '../schema/schema-version';
import { isUlid } from '../chain/ulid-sequence';

/** Columns that cannot differ while the sequence is unchanged, unless somebody altered them. */
const UNMOVED = ['hash', 'timestamp', 'lastUlid', 'frontier'] as const;

/**
 * Why nothing may be appended after the head record, phrased as the end of a sentence; null when it is sound.
 * @param head as it was read: a column may hold anything.
 * @param known the previous position, as far as this process has written or read it; null if it is not known.
 */
export function headFault(head: LedgerPosition | undefined, known: LedgerPosition | null): string | null {
  if (head === undefined) return 'is gone';
  const { sequence, hash, timestamp, lastUlid, effectSequence, frontier } = head;
  if (head.schemaVersion !== SCHEMA_VERSION)
    return `says that another version of the service has migrated the database (schema ${head.schemaVersion}, this one knows ${SCHEMA_VERSION}); start that version`;
  if (!isCount(sequence)) return 'has no sequence';
  if (!isTreeHash(hash)) return 'has no hash';
  if (!isTime(timestamp)) return 'has no time';
  if (!isUlid(lastUlid)) return 'has no last identifier';
  if (!isCount(effectSequence) || effectSequence > sequence) return 'has no sequence of the last effect';
  if (!isTreeOf(sequence, frontier)) return `has no tree of the size ${sequence}`;
  return known === null ? null : changeSince(known, head);
}

function changeSince(known: LedgerPosition, head: LedgerPosition): string | null {
  if (head.sequence < known.sequence) return `went back from entry ${known.sequence} to entry ${head.sequence}`;
  if (head.sequence > known.sequence) return null;
  const changed = UNMOVED.find((column) => head[column] !== known[column]);
  return changed === undefined ? null : `has a different ${changed} than entry ${known.sequence} left in it`;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function isTreeOf(size: number, frontier: unknown): boolean {
  return typeof frontier === 'string' && TreeFrontier.parse(frontier)?.size === size;
}

/** ISO 8601, UTC, milliseconds. */
function isTime(value: unknown): boolean {
  if (typeof value !== 'string') return false;
  const time = new Date(value);
  return !Number.isNaN(time.getTime()) && time.toISOString() === value;
}
