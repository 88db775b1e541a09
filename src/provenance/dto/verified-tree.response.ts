import { ApiProperty } from '@nestjs/swagger';
import { EXAMPLE_HASH } from '../../checkpoints/dto/examples';
import type { SignatureVerdict } from '../../signed-notes/verifier-key';

export class TreeResponse {
  @ApiProperty({ type: 'integer', minimum: 0, example: 1, description: 'Number of entries in the tree.' })
  readonly size!: number;

  @ApiProperty({ example: EXAMPLE_HASH, description: 'Root of the Merkle tree that the entries make, in hex.' })
  readonly rootHash!: string;

  @ApiProperty({
    description: 'Whether the stored tree, from which checkpoints and proofs are made, is that tree.',
  })
  readonly matches!: boolean;
}

export class CheckpointVerdictResponse {
  @ApiProperty({ example: 'agent-governance-service', description: 'Name of the log in the checkpoint.' })
  readonly origin!: string;

  @ApiProperty({ type: 'integer', minimum: 0, example: 1 })
  readonly size!: number;

  @ApiProperty({ example: EXAMPLE_HASH, description: 'Root hash of the checkpoint, in hex.' })
  readonly rootHash!: string;

  @ApiProperty({
    enum: ['valid', 'unknown_key', 'invalid'],
    enumName: 'SignatureVerdict',
    example: 'valid',
    description: 'Whether it was signed by this log: its signing key, or one of SIGNING_KEY_PREVIOUS.',
  })
  readonly signature!: SignatureVerdict;

  @ApiProperty({
    description: 'Whether the first entries of the log, as many as the checkpoint has, are those it was made from.',
  })
  readonly extended!: boolean;
}
