import { existsSync } from 'node:fs';
import { Injectable, Logger } from '@nestjs/common';
import { Configuration } from '../../core/config/configuration';
import { DatabaseFault } from '../../ledger/database/database-fault';
import type { FoundDatabase } from '../../ledger/database/start-condition';
import { TreeDamagedError } from '../../ledger/merkle/tree';
import { TreeReader } from '../../ledger/reading/tree-reader';
import { nameOf, type SignedCheckpoint } from './checkpoint';
import { CheckpointFiles, checkpointFiles, KeptCheckpoint } from './kept-checkpoint';
import { contradiction, endsBefore } from './tree-proofs';
import { refusedRestoration, recordRestoration } from './restorations';
import { Database } from '../../ledger/database/database';
import { LedgerService } from '../../ledger/ledger.service';
import type { TreeHead } from '../../ledger/merkle/proof-check';
import { LogSigner } from './log-signer';

const SELECT_HEAD = `SELECT "sequence" FROM "ledger_head" WHERE "id" = 1`;

/**
 * Refuses, before any migration, a database that does not extend the kept checkpoint, so that it stays as it was. A
 * database of a version without a tree is checked against the checkpoint's size only; `DatabaseCheck` does the rest
 * once it is migrated.
 * @throws CheckpointContradictedError unless the operator has accepted the database.
 */
export async function refuseContradicted(configuration: Configuration, found: FoundDatabase): Promise<void> {
  const keeper = new KeptCheckpoint(checkpointFiles(configuration, found));
  const kept = keeper.read();
  if (kept === null || configuration.givenUpCheckpoints.includes(nameOf(kept))) return;
  const why = await whyContradicted(found, kept);
  if (why !== null) throw refusedRestoration(found.location, why, kept, keeper.path);
}

/** Also null if the head record is missing or damaged, which is reported elsewhere. */
async function whyContradicted(found: FoundDatabase, kept: SignedCheckpoint): Promise<string | null> {
  const size = await sizeOf(found);
  if (size === null) return null;
  const { connection, dialect } = found;
  if (connection === null || size === 0) return endsBefore(kept, 0);
  const reader = new TreeReader({ points: connection, chain: connection, dialect });
  try {
    return await contradiction(reader, await reader.head(), kept);
  } catch (error) {
    if (error instanceof TreeDamagedError) return null;
    if (isMissing(error)) return endsBefore(kept, size);
    throw error;
  }
}

/** Number of entries according to the head record; 0 if nothing was migrated yet, null if the record is missing. */
async function sizeOf({ connection }: FoundDatabase): Promise<number | null> {
  try {
    const [head] = (await connection?.all<{ sequence: number }>(SELECT_HEAD)) ?? [{ sequence: 0 }];
    return head?.sequence ?? null;
  } catch (error) {
    if (isMissing(error)) return 0;
    throw error;
  }
}

/** A table or column that a migration has yet to create. */
function isMissing(error: unknown): boolean {
  return error instanceof DatabaseFault && error.kind === 'programming';
}

/** Checks the database against the kept checkpoint, at start, before anything is written. */
@Injectable()
export class DatabaseCheck {
  private readonly logger = new Logger('Checkpoints');

  constructor(
    private readonly configuration: Configuration,
    private readonly database: Database,
    private readonly ledger: LedgerService,
    private readonly tree: TreeReader,
    private readonly kept: KeptCheckpoint,
    private readonly signer: LogSigner,
    private readonly files: CheckpointFiles,
  ) {}

  /**
   * Returns the size of the checkpoint that was checked; 0 if there was none, or no readable head.
   * @throws CheckpointContradictedError when the database does not extend it, unless the operator has accepted that.
   */
  async run(): Promise<number> {
    const kept = this.kept.read();
    const tree = kept === null ? null : await this.readableTree();
    if (kept === null || tree === null) return 0;
    const why = await contradiction(this.tree, tree, kept);
    if (why !== null) await this.acceptRestored(tree, kept, why);
    return kept.size;
  }

  /** A wrong head record does not prevent the start: verification will report it. */
  private async readableTree(): Promise<TreeHead | null> {
    try {
      return await this.tree.head();
    } catch (error) {
      if (!(error instanceof TreeDamagedError)) throw error;
      this.logger.error(error.message);
      return null;
    }
  }

  private async acceptRestored(tree: TreeHead, kept: SignedCheckpoint, why: string): Promise<void> {
    const isAccepted = this.configuration.givenUpCheckpoints.includes(nameOf(kept));
    if (!isAccepted) throw refusedRestoration(this.database.location, why, kept, this.kept.path);
    await recordRestoration(this.ledger, tree, kept);
    await this.kept.write(this.signer.sign(await this.tree.head()).text);
    this.logger.warn(
      `The database was accepted although ${why}. The checkpoint ${nameOf(kept)} is discarded, and the ledger records that.`,
    );
    if (!existsSync(this.files.erasures))
      this.logger.warn(
        `There is no ${this.files.erasures}: what was erased since that backup is back, if anything was.`,
      );
  }
}
