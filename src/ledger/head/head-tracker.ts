import { DatabaseFault } from '../database/database-fault';
import type { Dialect } from '../database/dialect';
import type { SqlConnection } from '../database/sql-connection';
import { GENESIS_HASH } from '../chain/hash-chain';
import type { LedgerPosition } from '../schema/ledger-tables';
import { FIRST_ULID, isUlid } from '../chain/random';
import { isTreeHash, TreeFrontier } from '../merkle/tree';
import { RAISE_VERSION, SCHEMA_VERSION } from '../schema/schema-version';

const SELECT_HEAD = `SELECT "sequence", "hash", "timestamp", "lastUlid", "effectSequence", "frontier", "schemaVersion" FROM "ledger_head" WHERE "id" = 1`;
const INSERT_HEAD = `INSERT INTO "ledger_head" ("id", "sequence", "hash", "timestamp", "lastUlid", "effectSequence", "frontier", "schemaVersion") VALUES (1, 0, $1, $2, $3, 0, $4, $5) ON CONFLICT ("id") DO NOTHING`;
/**
 * Writes a page without changing anything: it proves that a commit reaches the disk, and a standby where the commit
 * waits for one.
 */
export const TOUCH_HEAD = `UPDATE "ledger_head" SET "id" = "id" WHERE "id" = 1`;

/** A single statement, so that head and entries come from the same snapshot while another process starts to write. */
const SELECT_ORPHANS = `SELECT max("sequence") AS "sequence" FROM "ledger_entries" WHERE NOT EXISTS (SELECT 1 FROM "ledger_head")`;

/** The end of the chain as far as this process has written or read it. A head record must not contradict it. */
export class HeadTracker {
  /** Position of the end; null before the start. */
  position: LedgerPosition | null = null;
  /** Last position with a sound head record. */
  sound: LedgerPosition | null = null;

  /** Sets the position at start. A damaged head does not prevent a start: verification will report it. */
  initialise(head: LedgerPosition): void {
    this.position = head;
    this.sound = headFault(head, null) === null ? head : null;
  }

  /** Advances to the head that a batch has written or a read has found. The known position may already be beyond it. */
  advance(head: LedgerPosition): void {
    if (this.sound !== null && head.sequence < this.sound.sequence) return;
    this.position = head;
    this.sound = head;
  }

  /**
   * Accepts the head as another process may have moved it. Call this before memory takes over that process's writes: if
   * the database later lacked them, memory would never undo them.
   * @returns false if the head is damaged
   */
  accept(head: LedgerPosition): boolean {
    if (headFault(head, this.sound) !== null) return false;
    this.advance(head);
    return true;
  }

  /** Checks a head record that is being read against the position known when the read began. */
  async check(reading: Promise<LedgerPosition | undefined>): Promise<LedgerPosition> {
    const { sound } = this;
    const head = await reading;
    const fault = headFault(head, sound);
    if (head !== undefined && fault === null) {
      this.advance(head);
      return head;
    }
    throw new DatabaseFault('unavailable', 'HEAD', `The head record of the ledger ${fault ?? 'is gone'}.`);
  }
}

/** Reads the head record as stored. Before a write, `HeadTracker` must check it. */
export async function readHead(connection: Pick<SqlConnection, 'all'>): Promise<LedgerPosition | undefined> {
  const [row] = await connection.all<LedgerPosition>(SELECT_HEAD);
  return row;
}

/** Begins a transaction in which no other process can move the head, in one round trip. */
export async function lockHead(
  connection: SqlConnection,
  { begin, lockRow }: Dialect,
): Promise<LedgerPosition | undefined> {
  const [, [row]] = await Promise.all([connection.run(begin), connection.all<LedgerPosition>(SELECT_HEAD + lockRow)]);
  return row;
}

/** Creates the head of an empty ledger. Throws if there are entries without a head, because somebody removed it. */
export async function ensuredHead(connection: SqlConnection): Promise<LedgerPosition> {
  const [last] = await connection.all<{ sequence: number | null }>(SELECT_ORPHANS);
  if (typeof last?.sequence === 'number') {
    throw new Error(
      `The ledger has entries up to sequence ${last.sequence} but no head: the database was altered. ` +
        'Restore it from a backup; nothing is written to a chain whose end is unknown.',
    );
  }
  const { text } = TreeFrontier.empty();
  await connection.run(INSERT_HEAD, [GENESIS_HASH, new Date(0).toISOString(), FIRST_ULID, text, SCHEMA_VERSION]);
  await connection.run(RAISE_VERSION);
  const head = await readHead(connection);
  if (head === undefined) throw new Error('The head record of the ledger is gone.');
  return head;
}

/** Columns that cannot differ while the sequence is unchanged, unless somebody altered them. */
const UNMOVED = ['hash', 'timestamp', 'lastUlid', 'frontier'] as const;
const COLUMNS = ['sequence', 'effectSequence', 'schemaVersion', ...UNMOVED] as const;

/**
 * Returns the fault because of which nothing may be appended to the head record, as the end of a sentence; null if the
 * record is sound.
 * @param head record as read: a column may hold anything
 * @param expected previous position as far as this process has written or read it; null if unknown
 */
export function headFault(head: LedgerPosition | undefined, expected: LedgerPosition | null): string | null {
  if (head === undefined) return 'is gone';
  // The usual case: nobody has written since, and the known position was sound.
  if (expected !== null && COLUMNS.every((column) => head[column] === expected[column])) return null;
  const { sequence, hash, timestamp, lastUlid, effectSequence, frontier } = head;
  if (head.schemaVersion !== SCHEMA_VERSION)
    return `says that another version of the service has migrated the database (schema ${head.schemaVersion}, this one knows ${SCHEMA_VERSION}); start that version`;
  if (!isCount(sequence)) return 'has no sequence';
  if (!isTreeHash(hash)) return 'has no hash';
  if (!isTime(timestamp)) return 'has no time';
  if (!isUlid(lastUlid)) return 'has no last identifier';
  if (!isCount(effectSequence) || effectSequence > sequence) return 'has no sequence of the last effect';
  if (!isTreeOf(sequence, frontier)) return `has no tree of the size ${sequence}`;
  return expected === null ? null : changeSince(expected, head);
}

function changeSince(expected: LedgerPosition, head: LedgerPosition): string | null {
  if (head.sequence < expected.sequence) return `went back from entry ${expected.sequence} to entry ${head.sequence}`;
  if (head.sequence > expected.sequence) return null;
  const changed = UNMOVED.find((column) => head[column] !== expected[column]);
  return changed === undefined ? null : `has a different ${changed} than entry ${expected.sequence} left in it`;
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
