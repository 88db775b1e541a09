import { ApiProperty } from '@nestjs/swagger';
import type { InclusionProof } from '../../ledger/reading/tree-reader';
import { EXAMPLE_HASH } from './examples';

export class InclusionProofResponse {
  @ApiProperty({ type: 'integer', minimum: 1, example: 1, description: 'Place of the entry in the chain.' })
  readonly sequence!: number;

  @ApiProperty({ example: EXAMPLE_HASH, description: 'SHA-256(0x00 ‖ the 32 bytes of the hash of the entry), in hex.' })
  readonly leafHash!: string;

  @ApiProperty({ type: 'integer', minimum: 1, example: 1, description: 'Number of entries in the tree.' })
  readonly size!: number;

  @ApiProperty({ example: EXAMPLE_HASH, description: 'Root of the tree of that size, in hex.' })
  readonly rootHash!: string;

  @ApiProperty({
    type: [String],
    example: [],
    description: 'Audit path of RFC 6962, section 2.1.1, from the leaf to the root, in hex.',
  })
  readonly hashes!: readonly string[];

  static of(this: void, sequence: number, { leafHash, tree, hashes }: InclusionProof): InclusionProofResponse {
    return { sequence, leafHash, size: tree.size, rootHash: tree.rootHash, hashes };
  }
}
