import type { Configuration } from '../../core/config/configuration';
import { isFault } from '../../ledger/database/database-fault';
import type { OpenedDatabase } from '../../ledger/database/start-condition';
import { TreeDamagedError } from '../../ledger/merkle/tree';
import { firstRow } from '../../ledger/schema/schema-version';
import { TreeReader } from '../../ledger/reading/tree-reader';
import { checkpointLabel, type SignedCheckpoint } from './checkpoint';
import { CheckpointFiles, StoredCheckpoint } from './stored-checkpoint';
import { contradiction, endsBefore } from './tree-proofs';
import { refusedRestoration } from './restorations';

/** One row, in which it is null if the head record is missing. */
const SELECT_SIZE = `SELECT max("sequence") AS "size" FROM "ledger_head" WHERE "id" = 1`;

/**
 * Refuses, before any migration, a database that does not extend the kept checkpoint, so that it stays as it was. A
 * database of a version without a tree is checked against the checkpoint's size only; `Checkpoints` does the rest
 * once it is migrated.
 * @throws CheckpointContradictedError unless the operator has accepted the database.
 */
export async function refuseContradicted(configuration: Configuration, found: OpenedDatabase): Promise<void> {
  const kept = new StoredCheckpoint(new CheckpointFiles(configuration, found)).read();
  if (kept === null || configuration.givenUpCheckpoints.includes(checkpointLabel(kept))) return;
  const why = await whyContradicted(found, kept);
  if (why !== null) throw refusedRestoration(found.location, why, kept);
}

/** Also null if the head record is missing or damaged, which is reported elsewhere. */
async function whyContradicted(found: OpenedDatabase, kept: SignedCheckpoint): Promise<string | null> {
  const size = await sizeOf(found);
  if (size === null) return null;
  const { connection, dialect } = found;
  if (connection === null || size === 0) return endsBefore(kept, 0);
  const reader = new TreeReader({ points: connection, chain: connection, dialect });
  try {
    return await contradiction(reader, await reader.head(), kept);
  } catch (error) {
    if (error instanceof TreeDamagedError) return null;
    // A table or column that a migration has yet to create, as below.
    if (isFault(error, 'programming')) return endsBefore(kept, size);
    throw error;
  }
}

/** Number of entries according to the head record; 0 if nothing was migrated yet, null if the record is missing. */
async function sizeOf(found: OpenedDatabase): Promise<number | null> {
  const head = await firstRow<{ size: number | null }>(found, SELECT_SIZE);
  return head === null ? 0 : head.size;
}
