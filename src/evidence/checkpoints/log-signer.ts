import type { Configuration } from '../../core/config/configuration';
import { persistentSeed } from '../../core/files/private-file';
import type { TreeHead } from '../../ledger/merkle/proof-check';
import { NoteSigner, type VerifierKey } from '../../core/signed-notes/signed-note';
import { checkpointText, type IssuedCheckpoint } from './checkpoint';
import type { CheckpointFiles } from './stored-checkpoint';

/** Signs in the name of this log. */
export class LogSigner {
  /** The keys whose signatures identify a checkpoint of this log; the one it signs with comes first. */
  readonly verifierKeys: readonly [VerifierKey, ...VerifierKey[]];

  private constructor(
    private readonly notes: NoteSigner,
    previous: readonly VerifierKey[],
  ) {
    this.verifierKeys = [notes.verifierKey, ...previous];
  }

  /** Opens the configured key, or a generated one. */
  static async open(this: void, configuration: Configuration, files: CheckpointFiles): Promise<LogSigner> {
    const { signingKey, checkpointOrigin, previousVerifierKeys } = configuration;
    const seed = signingKey ?? (await persistentSeed(files.signingKey, 'signing key'));
    return new LogSigner(new NoteSigner(checkpointOrigin, seed), previousVerifierKeys);
  }

  /** The public key as a verifier key of the signed note format. */
  get publicKey(): string {
    return this.notes.publicKey;
  }

  sign(tree: TreeHead): IssuedCheckpoint {
    const checkpoint = { ...tree, origin: this.notes.name };
    return { ...checkpoint, text: this.notes.sign(checkpointText(checkpoint)) };
  }
}
