import {
  type BeforeApplicationShutdown,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnModuleInit,
} from '@nestjs/common';
import { existsSync } from 'node:fs';
import { Configuration } from '../../core/config/configuration';
import { DomainError, unavailable } from '../../core/errors/domain-error';
import { Database } from '../../ledger/database/database';
import { LedgerService } from '../../ledger/ledger.service';
import type { TreeHead } from '../../ledger/merkle/proof-check';
import { TreeDamagedError } from '../../ledger/merkle/tree';
import { PeriodicTask } from '../../core/lifecycle/periodic-task';
import { SingleFlight } from '../../core/concurrency/single-flight';
import { TreeReader } from '../../ledger/reading/tree-reader';
import { signatureVerdict } from '../../core/signed-notes/signed-note';
import { withTimeout } from '../../core/concurrency/with-timeout';
import { type IssuedCheckpoint, checkpointLabel } from './checkpoint';
import { CheckpointFiles, type FiledCheckpoint, StoredCheckpoint } from './stored-checkpoint';
import { contradiction } from './tree-proofs';
import { LogSigner } from './log-signer';
import { recordRestoration, refusedRestoration } from './restorations';

/** Average milliseconds between automatic checkpoints: at most a minute. */
const INTERVAL_MS = 40_000;
/** Most milliseconds that a shutdown waits for the last checkpoint, for example while the database does not answer. */
const MAX_LAST_CHECKPOINT_MS = 1_000;
/** Identifies this cause of stopping writes. */
const CAUSE = 'checkpoint';

/**
 * Issues checkpoints of the log that never contradict an earlier one: the last checkpoint is stored outside the
 * database, and the current tree is checked against it before the next is signed.
 */
@Injectable()
export class Checkpoints implements OnModuleInit, OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger('Checkpoints');
  private readonly runs = new SingleFlight<never, IssuedCheckpoint>(() => this.signNext());
  /** Size of the last checkpoint that was signed here, or read at start. */
  lastSize = 0;
  /** True if the log contradicted the stored checkpoint at the last attempt to sign one. */
  isContradicted = false;
  private readonly repeated = new PeriodicTask(
    INTERVAL_MS,
    async () => {
      await this.issue();
    },
    (error) => this.report(error),
  );

  constructor(
    private readonly tree: TreeReader,
    private readonly storedCheckpoint: StoredCheckpoint,
    private readonly signer: LogSigner,
    private readonly ledger: LedgerService,
    private readonly configuration: Configuration,
    private readonly database: Database,
    private readonly files: CheckpointFiles,
  ) {}

  async onModuleInit(): Promise<void> {
    await this.checkDatabase();
    this.ledger.whenContradicted((head) => this.keepLostHead(head));
  }

  async onApplicationBootstrap(): Promise<void> {
    await this.issuePeriodically();
    this.repeated.begin();
  }

  /**
   * Signs the last checkpoint of an orderly shutdown: all requests have been answered, and the database is still open.
   * A process whose start failed has written nothing.
   */
  async beforeApplicationShutdown(): Promise<void> {
    const stopped = this.repeated.stop();
    if (!this.repeated.hasBegun) return;
    const last = stopped.then(() => this.issuePeriodically());
    await withTimeout(last, MAX_LAST_CHECKPOINT_MS, undefined);
  }

  /**
   * Returns a signed checkpoint of the current log, stored before it is returned. Calls that arrive while one is being
   * made share the next.
   * @throws INTERNAL_ERROR if the log contradicts an earlier checkpoint; UNAVAILABLE if the checkpoint cannot be stored
   */
  issue(): Promise<IssuedCheckpoint> {
    return this.runs.call();
  }

  /** Returns the last stored checkpoint; null if there is none, or another key has signed it. */
  last(): IssuedCheckpoint | null {
    const stored = this.storedCheckpoint.read();
    return stored !== null && signatureVerdict(stored.note, [this.signer.verifierKeys[0]]) === 'valid' ? stored : null;
  }

  /**
   * Checks the database before anything is written.
   * @throws CheckpointContradictedError if the database does not extend the stored checkpoint, unless the operator has
   * accepted that
   */
  private async checkDatabase(): Promise<void> {
    const stored = this.storedCheckpoint.read();
    const tree = stored === null ? null : await this.readableTree();
    if (stored === null || tree === null) return;
    const why = await contradiction(this.tree, tree, stored);
    if (why !== null) await this.acceptRestored(tree, stored, why);
    this.lastSize = stored.size;
  }

  /** Returns the tree; null for a wrong head record, which does not prevent the start: verification will report it. */
  private async readableTree(): Promise<TreeHead | null> {
    try {
      return await this.tree.head();
    } catch (error) {
      if (!(error instanceof TreeDamagedError)) throw error;
      this.logger.error(error.message);
      return null;
    }
  }

  private async acceptRestored(tree: TreeHead, checkpoint: FiledCheckpoint, why: string): Promise<void> {
    const isAccepted = this.configuration.givenUpCheckpoints.includes(checkpointLabel(checkpoint));
    if (!isAccepted) throw refusedRestoration(this.database.location, why, checkpoint);
    await recordRestoration(this.ledger, tree, checkpoint);
    await this.storedCheckpoint.write(this.signer.sign(await this.tree.head()).text);
    this.logger.warn(
      `The database was accepted although ${why}. The checkpoint ${checkpointLabel(checkpoint)} is discarded, and the ledger records that.`,
    );
    const { erasures, earlierErasures } = this.files;
    if (![erasures, ...earlierErasures].some((path) => existsSync(path)))
      this.logger.warn(`There is no ${erasures}: what was erased since that backup is back, if anything was.`);
  }

  private async signNext(): Promise<IssuedCheckpoint> {
    const stored = this.storedCheckpoint.read();
    const tree = await this.tree.head();
    const why = stored === null ? null : await contradiction(this.tree, tree, stored);
    this.isContradicted = why !== null;
    if (stored !== null && why !== null) throw this.refused(why, stored);
    this.ledger.stops.lift(CAUSE);
    const issued = this.signer.sign(tree);
    const isKept = stored?.text === issued.text && stored.path === this.files.checkpoint;
    if (!isKept) await this.keep(issued);
    this.lastSize = tree.size;
    return issued;
  }

  /** Stores a checkpoint of a chain that the database has lost, so that the next start reports the loss. */
  private async keepLostHead(head: TreeHead): Promise<void> {
    try {
      await this.keep(this.signer.sign(head));
    } catch (error) {
      this.logger.error(`No checkpoint could be kept of the chain that the database has lost: ${String(error)}`);
    }
  }

  private async keep(issued: IssuedCheckpoint): Promise<void> {
    try {
      await this.storedCheckpoint.keep(issued);
    } catch (error) {
      this.logger.error(
        `The checkpoint cannot be kept in ${this.files.checkpoint}, so it is not issued: ${String(error)}`,
      );
      throw unavailable('The checkpoint cannot be kept now.');
    }
  }

  /**
   * Makes the error, and stops writing: new entries would be lost when a backup is restored, or would extend a forged
   * chain.
   */
  private refused(why: string, checkpoint: FiledCheckpoint): DomainError {
    this.ledger.stops.stop(CAUSE, 'The log contradicts an earlier checkpoint, so nothing is written to it.');
    this.logger.fatal(
      `THE LOG CONTRADICTS AN EARLIER CHECKPOINT: ${why}. The one kept in ${checkpoint.path} is ${checkpointLabel(checkpoint)}. ` +
        'No checkpoint is signed and nothing is written. Verify the log, and restore it from a backup.',
    );
    return new DomainError(
      'INTERNAL_ERROR',
      'The log contradicts an earlier checkpoint, so none is signed. See the log of the service.',
    );
  }

  /**
   * Issues an automatic checkpoint, for which nobody waits: a failure is logged, and retried after the next interval.
   */
  private async issuePeriodically(): Promise<void> {
    await this.issue().catch((error: unknown) => this.report(error));
  }

  private report(error: unknown): void {
    this.logger.error(`No checkpoint was signed: ${String(error)}`);
  }
}
