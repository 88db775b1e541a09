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

/** Selects one row; its size is null if the head record is missing. */
const SELECT_SIZE = `SELECT max("sequence") AS "size" FROM "ledger_head" WHERE "id" = 1`;

/**
 * Refuses, before any migration, a database that does not extend the stored checkpoint, so that it stays unchanged. A
 * database of a version without a tree is compared with the checkpoint's size only; after its migration, `Checkpoints`
 * compares the rest.
 * @throws CheckpointContradictedError unless the operator has accepted the database
 */
export async function refuseContradicted(configuration: Configuration, opened: OpenedDatabase): Promise<void> {
  const checkpoint = new StoredCheckpoint(new CheckpointFiles(configuration, opened)).read();
  if (checkpoint === null || configuration.givenUpCheckpoints.includes(checkpointLabel(checkpoint))) return;
  const why = await whyContradicted(opened, checkpoint);
  if (why !== null) throw refusedRestoration(opened.location, why, checkpoint);
}

/**
 * Returns why the database contradicts the checkpoint; null also if the head record is missing or damaged, which is
 * reported elsewhere.
 */
async function whyContradicted(opened: OpenedDatabase, checkpoint: SignedCheckpoint): Promise<string | null> {
  const size = await sizeOf(opened);
  if (size === null) return null;
  const { connection, dialect } = opened;
  if (connection === null || size === 0) return endsBefore(checkpoint, 0);
  const reader = new TreeReader({ points: connection, chain: connection, dialect });
  try {
    return await contradiction(reader, await reader.head(), checkpoint);
  } catch (error) {
    if (error instanceof TreeDamagedError) return null;
    // The table or column is missing until a migration creates it.
    if (isFault(error, 'programming')) return endsBefore(checkpoint, size);
    throw error;
  }
}

/**
 * Returns the number of entries according to the head record; 0 if nothing was migrated yet, null if the record is
 * missing.
 */
async function sizeOf(opened: OpenedDatabase): Promise<number | null> {
  const head = await firstRow<{ size: number | null }>(opened, SELECT_SIZE);
  return head === null ? 0 : head.size;
}
