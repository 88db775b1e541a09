import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import type { TimedVerdict } from '../../verification/chain-verifier';
import type { CheckpointVerdict } from '../../verification/checkpoint-check';
import type { TimedStateVerdict } from '../../verification/state-verifier';
import { InvalidDerivedResponse, InvalidRecordResponse } from './invalid-state.response';
import { CheckpointVerdictResponse, TreeResponse } from './verified-tree.response';

export class ChainHeadResponse {
  @ApiProperty({ type: 'integer', minimum: 0, example: 1 })
  readonly sequence!: number;

  @ApiProperty({ example: '9f2c1e5b7a3d4860b1c2d3e4f5a69788796a5b4c3d2e1f00112233445566778a' })
  readonly hash!: string;
}

export class VerificationResponse {
  @ApiProperty({
    description:
      'True when no link is broken, no hash is wrong and the stored tree matches; with `state`, when also no record and no derived ' +
      'data is wrong; with a checkpoint, when the log also extends it and its signature is not forged.',
  })
  readonly valid!: boolean;

  @ApiProperty({ type: 'integer', minimum: 0, example: 1 })
  readonly entriesVerified!: number;

  @ApiProperty({ type: 'integer', minimum: 0, example: 0 })
  readonly brokenLinks!: number;

  @ApiProperty({ type: 'integer', minimum: 0, example: 0 })
  readonly invalidHashes!: number;

  @ApiProperty({
    type: ChainHeadResponse,
    description: 'Where the chain ended according to the head record when the verification began.',
  })
  readonly head!: ChainHeadResponse;

  @ApiProperty({ type: 'integer', nullable: true, example: null, description: 'The first sequence at fault.' })
  readonly firstInvalid!: number | null;

  @ApiProperty({
    type: TreeResponse,
    nullable: true,
    description:
      'The Merkle tree over the entries; null with a `from` after the first entry, since it is not checked then.',
  })
  readonly tree!: TreeResponse | null;

  @ApiPropertyOptional({
    type: CheckpointVerdictResponse,
    description: 'Only when a checkpoint was sent: whether the log extends it.',
  })
  readonly checkpoint?: CheckpointVerdictResponse;

  @ApiProperty({ type: 'integer', minimum: 0, example: 12, description: 'Milliseconds the verification took.' })
  readonly durationMs!: number;

  @ApiProperty({
    type: 'integer',
    minimum: 0,
    required: false,
    description: 'With `state`: number of records checked.',
  })
  readonly recordsVerified?: number;

  @ApiProperty({
    type: 'integer',
    minimum: 0,
    required: false,
    description: 'With `state`: records that are not as the ledger left them.',
  })
  readonly invalidRecords?: number;

  @ApiProperty({
    type: InvalidRecordResponse,
    isArray: true,
    maxItems: 10,
    required: false,
    description: 'With `state`: the first ten of them.',
  })
  readonly firstInvalidRecords?: readonly InvalidRecordResponse[];

  @ApiProperty({
    type: 'integer',
    minimum: 0,
    required: false,
    description:
      'With `state`: totals, list items and columns of the head record that do not agree with records and entries.',
  })
  readonly invalidDerived?: number;

  @ApiProperty({
    type: InvalidDerivedResponse,
    isArray: true,
    maxItems: 10,
    required: false,
    description: 'With `state`: the first ten of them.',
  })
  readonly firstInvalidDerived?: readonly InvalidDerivedResponse[];

  static from(
    this: void,
    verdict: TimedVerdict,
    state: TimedStateVerdict | null,
    checkpoint: CheckpointVerdict | null,
  ): VerificationResponse {
    const { entriesVerified, brokenLinks, invalidHashes, head, firstInvalid, tree, duration: durationMs } = verdict;
    // A client that only looks at this member must not miss other findings.
    const valid = verdict.valid && tree?.matches !== false && isKept(checkpoint);
    const ofChain = { valid, entriesVerified, brokenLinks, invalidHashes, head, firstInvalid, tree, durationMs };
    const found = checkpoint === null ? ofChain : { ...ofChain, checkpoint };
    return state === null ? found : withState(found, state);
  }
}

function withState(ofChain: VerificationResponse, state: TimedStateVerdict): VerificationResponse {
  const { duration, ...found } = state;
  return {
    ...ofChain,
    ...found,
    valid: ofChain.valid && found.invalidRecords === 0 && found.invalidDerived === 0,
    durationMs: ofChain.durationMs + duration,
  };
}

/**
 * A checkpoint signed by an unknown key may still be true; one that claims a known key's signature falsely is forged.
 */
function isKept(checkpoint: CheckpointVerdict | null): boolean {
  return checkpoint === null || (checkpoint.extended && checkpoint.signature !== 'invalid');
}
