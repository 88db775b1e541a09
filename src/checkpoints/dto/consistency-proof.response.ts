import { ApiProperty } from '@nestjs/swagger';
import type { ConsistencyProof } from '../../ledger/reading/tree-reader';
import { EXAMPLE_HASH } from './examples';

export class ConsistencyProofResponse {
  @ApiProperty({ type: 'integer', minimum: 0, example: 1, description: 'Number of entries of the earlier tree.' })
  readonly from!: number;

  @ApiProperty({ type: 'integer', minimum: 0, example: 1, description: 'Number of entries of the later tree.' })
  readonly to!: number;

  @ApiProperty({ example: EXAMPLE_HASH, description: 'Root of the earlier tree, in hex.' })
  readonly fromRoot!: string;

  @ApiProperty({ example: EXAMPLE_HASH, description: 'Root of the later tree, in hex.' })
  readonly toRoot!: string;

  @ApiProperty({
    type: [String],
    example: [],
    description:
      'Consistency proof of RFC 6962, section 2.1.2, in hex; empty when the earlier tree is empty or of the same size.',
  })
  readonly hashes!: readonly string[];

  static of(this: void, { earlier, later, hashes }: ConsistencyProof): ConsistencyProofResponse {
    return { from: earlier.size, to: later.size, fromRoot: earlier.rootHash, toRoot: later.rootHash, hashes };
  }
}
