import type { SqlConnection } from '../../database/sql-connection';
import { GENESIS_HASH } from '../chain/hash-chain';
import type { LedgerPosition } from '../chain/ledger-position';
import { TreeFrontier } from '../merkle/tree-frontier';
import { RAISE_VERSION, SCHEMA_VERSION } from '../schema/schema-version';
import { FIRST_ULID } from '../chain/ulid-sequence';

const SELECT_HEAD = `SELECT "sequence", "hash", "timestamp", "lastUlid", "effectSequence", "frontier", "schemaVersion" FROM "ledger_head" WHERE "id" = 1`;
const INSERT_HEAD = `INSERT INTO "ledger_head" ("id", "sequence", "hash", "timestamp", "lastUlid", "effectSequence", "frontier", "schemaVersion") VALUES (1, 0, $1, $2, $3, 0, $4, $5) ON CONFLICT ("id") DO NOTHING`;
/**
 * Writes a page without changing anything: it proves that a commit reaches the disk, and a standby where the commit
 * waits for one.
 */
export const TOUCH_HEAD = `UPDATE "ledger_head" SET "id" = "id" WHERE "id" = 1`;

/** A single statement, so that head and entries come from the same snapshot while another process starts to write. */
const SELECT_ORPHANS = `SELECT max("sequence") AS "sequence" FROM "ledger_entries" WHERE NOT EXISTS (SELECT 1 FROM "ledger_head")`;

/** The head record as stored. Whoever writes after it must have `KnownHead` check it first. */
export async function readHead(
  connection: Pick<SqlConnection, 'all'>,
  lockRow = '',
): Promise<LedgerPosition | undefined> {
  const [row] = await connection.all<LedgerPosition>(SELECT_HEAD + lockRow);
  return row;
}

/** Creates the head of an empty ledger. Entries without a head mean that somebody removed it: then startup fails. */
export async function ensureHead(connection: SqlConnection): Promise<void> {
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
}
