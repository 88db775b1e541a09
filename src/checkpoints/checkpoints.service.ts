import {
  type BeforeApplicationShutdown,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnModuleInit,
} from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { Configuration } from '../config/configuration';
import { Database } from '../database/database';
import { DomainError, unavailable } from '../errors/domain-error';
import { LedgerService } from '../ledger/ledger.service';
import type { TreeHead } from '../ledger/merkle/proof-check';
import { TreeDamagedError } from '../ledger/merkle/tree-damaged.error';
import { SharedRuns } from '../ledger/shared-runs';
import { TreeReader } from '../ledger/tree-reader';
import { NoteSigner } from '../signed-notes/note-signer';
import { formatNote } from '../signed-notes/signed-note';
import type { VerifierKey } from '../signed-notes/verifier-key';
import { type Checkpoint, checkpointText, nameOf, type SignedCheckpoint } from './checkpoint';
import { checkpointFiles } from './checkpoint-files';
import { KeptCheckpoint } from './kept-checkpoint';
import { contradiction } from './log-extension';
import { recordRestoration, refusedRestoration } from './restorations';
import { isOpenToOthers, readOrMakeSigningKey } from './signing-key-file';

/** Milliseconds between checkpoints that nobody asked for. */
const INTERVAL = 60_000;
/** Milliseconds that a stop waits for the last one, such as while the database does not answer. */
const LONGEST_LAST = 1_000;

export interface IssuedCheckpoint extends Checkpoint {
  /** The signed note. */
  readonly text: string;
}

/**
 * Signs checkpoints of the log, none that contradicts an earlier one: the last is kept outside the database, and today's
 * tree is held against it before the next is signed, and before anything is written at start.
 */
@Injectable()
export class Checkpoints implements OnModuleInit, OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger('Checkpoints');
  private readonly runs = new SharedRuns<never, IssuedCheckpoint>(() => this.sign());
  private readonly kept: KeptCheckpoint;
  private readonly keyPath: string;
  /** Entries of the last checkpoint that was signed here, or found kept. */
  lastSize = 0;
  /** The log contradicts the kept checkpoint, as far as the last try to sign one has shown. */
  isContradicted = false;
  private key: NoteSigner | null = null;
  private timer: NodeJS.Timeout | null = null;

  constructor(
    private readonly configuration: Configuration,
    private readonly database: Database,
    private readonly ledger: LedgerService,
    private readonly tree: TreeReader,
  ) {
    const files = checkpointFiles(configuration, database.location);
    this.kept = new KeptCheckpoint(files.checkpoint);
    this.keyPath = files.signingKey;
  }

  async onModuleInit(): Promise<void> {
    const { signingKey, checkpointOrigin } = this.configuration;
    this.key = new NoteSigner(checkpointOrigin, signingKey ?? (await this.ownKey()));
    await this.checkDatabase();
  }

  async onApplicationBootstrap(): Promise<void> {
    await this.issueUnasked();
    this.timer = setInterval(() => void this.issueUnasked(), INTERVAL).unref();
  }

  /** The last one of an orderly stop: everything received is answered by now, and the database is still open. */
  async beforeApplicationShutdown(): Promise<void> {
    if (this.timer !== null) clearInterval(this.timer);
    const enough = new AbortController();
    const limit = sleep(LONGEST_LAST, undefined, { signal: enough.signal }).catch(() => undefined);
    await Promise.race([this.issueUnasked(), limit]);
    enough.abort();
  }

  /** The public key as a verifier key of the signed note format. */
  get publicKey(): string {
    return this.signer.publicKey;
  }

  /** Those by whose signatures a checkpoint of this log is known. */
  get verifierKeys(): readonly VerifierKey[] {
    return [this.signer.verifierKey, ...this.configuration.previousVerifierKeys];
  }

  /**
   * A signed checkpoint of the log as it stands, kept before it is told. Calls that arrive while one is made share the next.
   * @throws INTERNAL_ERROR when the log contradicts an earlier checkpoint; UNAVAILABLE when it cannot be kept.
   */
  issue(): Promise<IssuedCheckpoint> {
    return this.runs.call(0);
  }

  private async sign(): Promise<IssuedCheckpoint> {
    const kept = this.kept.read();
    const tree = await this.tree.head();
    const why = kept === null ? null : await contradiction(this.tree, tree, kept);
    this.isContradicted = why !== null;
    if (kept !== null && why !== null) throw this.refused(why, kept);
    const origin = this.signer.name;
    const text = this.signer.sign(checkpointText({ origin, ...tree }));
    if (kept === null || formatNote(kept.note) !== text) await this.keep(text, tree);
    this.lastSize = tree.size;
    return { ...tree, origin, text };
  }

  private async keep(text: string, { size }: TreeHead): Promise<void> {
    try {
      // Another process on the same database may have kept a later one by now.
      if ((this.kept.read()?.size ?? 0) <= size) await this.kept.write(text);
    } catch (error) {
      this.logger.error(`The checkpoint cannot be kept in ${this.kept.path}, so it is not told: ${String(error)}`);
      throw unavailable('The checkpoint cannot be kept now.');
    }
  }

  private refused(why: string, kept: Checkpoint): DomainError {
    this.logger.fatal(
      `THE LOG CONTRADICTS AN EARLIER CHECKPOINT: ${why}. The one kept in ${this.kept.path} is ${nameOf(kept)}. ` +
        'No checkpoint is signed. Verify the log, and restore it from a backup.',
    );
    return new DomainError(
      'INTERNAL_ERROR',
      'The log contradicts an earlier checkpoint, so none is signed. The log of the service tells more.',
    );
  }

  /** A checkpoint that nobody waits for: its failure is logged, and the next interval tries again. */
  private async issueUnasked(): Promise<void> {
    try {
      await this.issue();
    } catch (error) {
      this.logger.error(`No checkpoint was signed: ${String(error)}`);
    }
  }

  private async checkDatabase(): Promise<void> {
    const kept = this.kept.read();
    const tree = kept === null ? null : await this.readableTree();
    if (kept === null || tree === null) return;
    const why = await contradiction(this.tree, tree, kept);
    this.lastSize = kept.size;
    if (why !== null) await this.acceptRestored(tree, kept, why);
  }

  /** A head record that is wrong does not hinder the start: it is for verification to report. */
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
    const origin = this.signer.name;
    await this.kept.write(this.signer.sign(checkpointText({ origin, ...(await this.tree.head()) })));
    this.logger.warn(
      `The database was accepted although ${why}. The checkpoint ${nameOf(kept)} is given up, and the ledger has an entry of it.`,
    );
  }

  private async ownKey(): Promise<Buffer> {
    const seed = await readOrMakeSigningKey(this.keyPath);
    if (isOpenToOthers(this.keyPath)) {
      this.logger.warn(`Others than the owner can read the signing key in ${this.keyPath}: chmod 600 it.`);
    }
    return seed;
  }

  private get signer(): NoteSigner {
    if (this.key === null) throw new Error('The checkpoints have not started yet.');
    return this.key;
  }
}
