import { ApiProperty } from '@nestjs/swagger';
import type { IssuedCheckpoint } from '../log-signer';
import { EXAMPLE_HASH, EXAMPLE_NOTE, EXAMPLE_PUBLIC_KEY } from './examples';

export class CheckpointResponse {
  @ApiProperty({
    example: EXAMPLE_NOTE,
    description: 'The checkpoint as a signed note (C2SP tlog-checkpoint), to be kept as it is.',
  })
  readonly checkpoint!: string;

  @ApiProperty({ example: 'agent-governance-service', description: 'Name of the log.' })
  readonly origin!: string;

  @ApiProperty({ type: 'integer', minimum: 0, example: 1, description: 'Number of entries.' })
  readonly size!: number;

  @ApiProperty({ example: EXAMPLE_HASH, description: 'Root of the Merkle tree over the entries (RFC 6962), in hex.' })
  readonly rootHash!: string;

  @ApiProperty({ example: EXAMPLE_PUBLIC_KEY, description: 'The key that checks the signature (C2SP signed note).' })
  readonly publicKey!: string;

  static of(
    this: void,
    { text: checkpoint, origin, size, rootHash }: IssuedCheckpoint,
    publicKey: string,
  ): CheckpointResponse {
    return { checkpoint, origin, size, rootHash, publicKey };
  }
}
