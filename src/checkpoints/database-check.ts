import { Injectable, Logger } from '@nestjs/common';
import { Configuration } from '../config/configuration';
import { Database } from '../database/database';
import { LedgerService } from '../ledger/ledger.service';
import type { TreeHead } from '../ledger/merkle/proof-check';
import { TreeDamagedError } from '../ledger/merkle/tree-damaged.error';
import { TreeReader } from '../ledger/reading/tree-reader';
import { nameOf, type SignedCheckpoint } from './checkpoint';
import { KeptCheckpoint } from './kept-checkpoint';
import { contradiction } from './consistency';
import { LogSigner } from './log-signer';
import { recordRestoration, refusedRestoration } from './restorations';

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
  }
}
