import { Injectable } from '@nestjs/common';
import { Configuration } from '../../core/config/configuration';
import { keptSeed } from '../../core/files/kept-seed';
import type { TreeHead } from '../../ledger/merkle/proof-check';
import { NoteSigner, type VerifierKey } from '../../core/signed-notes/signed-note';
import { checkpointText, type IssuedCheckpoint } from './checkpoint';
import { CheckpointFiles } from './kept-checkpoint';

/** Signs in the name of this log, with the configured key or a generated one. */
@Injectable()
export class LogSigner {
  private notes: NoteSigner | null = null;

  constructor(
    private readonly configuration: Configuration,
    private readonly files: CheckpointFiles,
  ) {}

  /** Reads or generates the key: once, before anything is signed. */
  async open(): Promise<void> {
    const { signingKey, checkpointOrigin } = this.configuration;
    this.notes = new NoteSigner(checkpointOrigin, signingKey ?? (await keptSeed(this.files.signingKey, 'signing key')));
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

  private get signer(): NoteSigner {
    if (this.notes === null) throw new Error('The checkpoints have not started yet.');
    return this.notes;
  }
}
