import { ApiProperty } from '@nestjs/swagger';
import type { TimedVerdict } from '../chain-verifier';

export class ChainHeadResponse {
  @ApiProperty({ type: 'integer', minimum: 0, example: 1 })
  readonly sequence!: number;

  @ApiProperty({ example: '9f2c1e5b7a3d4860b1c2d3e4f5a69788796a5b4c3d2e1f00112233445566778a' })
  readonly hash!: string;
}

export class VerificationResponse {
  @ApiProperty({ description: 'True when no link is broken and no hash is wrong.' })
  readonly valid!: boolean;

  @ApiProperty({ type: 'integer', minimum: 0, example: 1 })
  readonly entriesVerified!: number;

  @ApiProperty({ type: 'integer', minimum: 0, example: 0 })
  readonly brokenLinks!: number;

  @ApiProperty({ type: 'integer', minimum: 0, example: 0 })
  readonly invalidHashes!: number;

  @ApiProperty({
    type: ChainHeadResponse,
    description: 'Where the head record said, at the start, that the chain ends.',
  })
  readonly head!: ChainHeadResponse;

  @ApiProperty({ type: 'integer', nullable: true, example: null, description: 'The first sequence at fault.' })
  readonly firstInvalid!: number | null;

  @ApiProperty({ type: 'integer', minimum: 0, example: 12, description: 'Milliseconds the verification took.' })
  readonly durationMs!: number;

  static from(this: void, verdict: TimedVerdict): VerificationResponse {
    const { valid, entriesVerified, brokenLinks, invalidHashes, head, firstInvalid, duration: durationMs } = verdict;
    return { valid, entriesVerified, brokenLinks, invalidHashes, head, firstInvalid, durationMs };
  }
}
