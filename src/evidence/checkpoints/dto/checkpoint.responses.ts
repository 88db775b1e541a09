import { ApiCount, ApiMember } from '../../../http/openapi/response-members';
import type { IssuedCheckpoint } from '../checkpoint';
import type { ConsistencyProof, InclusionProof } from '../../../ledger/reading/tree-reader';

/** Consistent examples for the API document. */
export const EXAMPLE_ROOT_HASH = 'b159bfa47f8eecc4f4b4fbc92c5f6eee13a68132f4f74e68af6bcc1aa45ce503';
const EXAMPLE_PUBLIC_KEY = 'agent-governance-service+7766190d+AUvq3isjNDC5cYuqzs8P4FHLIqILbXmlqfxa2HOI4vc8';
const EXAMPLE_NOTE =
  'agent-governance-service\n1\nsVm/pH+O7MT0tPvJLF9u7hOmgTL0905or2vMGqRc5QM=\n\n— agent-governance-service d2YZDch/UEZ1NdYSp9tq5kju8tV126atfx/ZA5IwbuGLCfwVxsmzXdJ3TfVtwQk71JTnFLuF2TdU0OXreKubGyj0eAo=\n';

export class CheckpointResponse {
  @ApiMember('The checkpoint as a signed note (C2SP tlog-checkpoint), to be kept as it is.', { example: EXAMPLE_NOTE })
  readonly checkpoint!: string;

  @ApiMember('Name of the log.', { example: 'agent-governance-service' })
  readonly origin!: string;

  @ApiCount('Number of entries.')
  readonly size!: number;

  @ApiMember('Root of the Merkle tree over the entries (RFC 6962), in hex.', { example: EXAMPLE_ROOT_HASH })
  readonly rootHash!: string;

  @ApiMember('The key that checks the signature (C2SP signed note).', { example: EXAMPLE_PUBLIC_KEY })
  readonly publicKey!: string;

  static from(
    this: void,
    { text: checkpoint, origin, size, rootHash }: IssuedCheckpoint,
    publicKey: string,
  ): CheckpointResponse {
    return { checkpoint, origin, size, rootHash, publicKey };
  }
}

export class ConsistencyProofResponse {
  @ApiCount('Number of entries of the earlier tree.')
  readonly from!: number;

  @ApiCount('Number of entries of the later tree.')
  readonly to!: number;

  @ApiMember('Root of the earlier tree, in hex.', { example: EXAMPLE_ROOT_HASH })
  readonly fromRoot!: string;

  @ApiMember('Root of the later tree, in hex.', { example: EXAMPLE_ROOT_HASH })
  readonly toRoot!: string;

  @ApiMember(
    'Consistency proof of RFC 6962, section 2.1.2, in hex; empty when the earlier tree is empty or of the same size.',
    { type: [String], example: [] },
  )
  readonly hashes!: readonly string[];

  static from(this: void, { earlier, later, hashes }: ConsistencyProof): ConsistencyProofResponse {
    return { from: earlier.size, to: later.size, fromRoot: earlier.rootHash, toRoot: later.rootHash, hashes };
  }
}

export class InclusionProofResponse {
  @ApiCount('Place of the entry in the chain.', { minimum: 1 })
  readonly sequence!: number;

  @ApiMember('SHA-256(0x00 ‖ the 32 bytes of the hash of the entry), in hex.', { example: EXAMPLE_ROOT_HASH })
  readonly leafHash!: string;

  @ApiCount('Number of entries in the tree.', { minimum: 1 })
  readonly size!: number;

  @ApiMember('Root of the tree of that size, in hex.', { example: EXAMPLE_ROOT_HASH })
  readonly rootHash!: string;

  @ApiMember('Audit path of RFC 6962, section 2.1.1, from the leaf to the root, in hex.', {
    type: [String],
    example: [],
  })
  readonly hashes!: readonly string[];

  static from(this: void, sequence: number, { leafHash, tree, hashes }: InclusionProof): InclusionProofResponse {
    return { sequence, leafHash, size: tree.size, rootHash: tree.rootHash, hashes };
  }
}
