import { Injectable, Logger } from '@nestjs/common';
import { Configuration } from '../../core/config/configuration';
import { closeToOthers, isOpenToOthers, createFile } from '../../core/files/private-file';
import type { TreeHead } from '../../ledger/merkle/proof-check';
import { NoteSigner, parseSeed, type VerifierKey } from '../../core/signed-notes/signed-note';
import { checkpointText, type IssuedCheckpoint } from './checkpoint';
import { CheckpointFiles } from './kept-checkpoint';
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';

/** Signs in the name of this log, with the configured key or a generated one. */
@Injectable()
export class LogSigner {
  private readonly logger = new Logger('Checkpoints');
  private notes: NoteSigner | null = null;

  constructor(
    private readonly configuration: Configuration,
    private readonly files: CheckpointFiles,
  ) {}

  /** Reads or generates the key: once, before anything is signed. */
  async open(): Promise<void> {
    const { signingKey, checkpointOrigin } = this.configuration;
    this.notes = new NoteSigner(checkpointOrigin, signingKey ?? (await this.ownKey()));
  }

  /** The public key as a verifier key of the signed note format. */
  get publicKey(): string {
    return this.signer.publicKey;
  }

  get verifierKey(): VerifierKey {
    return this.signer.verifierKey;
  }

  /** The keys whose signatures identify a checkpoint of this log. */
  get verifierKeys(): readonly VerifierKey[] {
    return [this.signer.verifierKey, ...this.configuration.previousVerifierKeys];
  }

  sign(tree: TreeHead): IssuedCheckpoint {
    const checkpoint = { ...tree, origin: this.signer.name };
    return { ...checkpoint, text: this.signer.sign(checkpointText(checkpoint)) };
  }

  private async ownKey(): Promise<Buffer> {
    const path = this.files.signingKey;
    const seed = await readOrMakeSigningKey(path);
    if (isOpenToOthers(path)) {
      closeToOthers(path);
      this.logger.warn(
        `Users other than the owner could read the signing key in ${path}. Replace the key if somebody may have read it.`,
      );
    }
    return seed;
  }

  private get signer(): NoteSigner {
    if (this.notes === null) throw new Error('The checkpoints have not started yet.');
    return this.notes;
  }
}

const SEED_BYTES = 32;

/** Reads the seed of the signing key from its file; generates both if there is none yet. */
async function readOrMakeSigningKey(path: string): Promise<Buffer> {
  if (!existsSync(path)) await make(path);
  const seed = parseSeed(readFileSync(path, 'utf8').trimEnd());
  if (seed !== undefined) return seed;
  throw new Error(
    `The signing key in ${path} cannot be read: it must be 32 bytes in standard base64. Put the right key back; ` +
      'or remove the file to get a new one, and tell clients its public key.',
  );
}

async function make(path: string): Promise<void> {
  try {
    await createFile(path, `${randomBytes(SEED_BYTES).toString('base64')}\n`);
  } catch (error) {
    // Another process on the same database was first: its key serves both.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}
