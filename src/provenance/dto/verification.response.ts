import { ApiExtraModels, ApiProperty, ApiPropertyOptional, getSchemaPath } from '@nestjs/swagger';
import { EXAMPLE_HASH } from '../../checkpoints/dto/examples';
import { sampleId } from '../../docs/sample-id';
import type { SignatureVerdict } from '../../signed-notes/verifier-key';
import type { TimedVerdict } from '../chain-verifier';
import type { CheckpointVerdict } from '../checkpoint-check';
import { RECORD_FAULTS, type RecordFault } from '../state-check';
import { DERIVED_DATA, type InvalidDerived } from '../state-findings';
import type { TimedStateVerdict } from '../state-verifier';

export class ChainHeadResponse {
  @ApiProperty({ type: 'integer', minimum: 0, example: 1 })
  readonly sequence!: number;

  @ApiProperty({ example: '9f2c1e5b7a3d4860b1c2d3e4f5a69788796a5b4c3d2e1f00112233445566778a' })
  readonly hash!: string;
}

export class InvalidRecordResponse {
  @ApiProperty({ example: 'entity' })
  readonly subjectType!: string;

  @ApiProperty({ example: sampleId('ent') })
  readonly subjectId!: string;

  @ApiProperty({
    enum: RECORD_FAULTS,
    example: 'changed',
    description:
      '`changed`: it is not as its last entry left it. `added`: no entry made it, or the last one removed it. ' +
      '`missing`: its last entry left it there.',
  })
  readonly fault!: RecordFault;
}

export class InvalidDerivedResponse {
  @ApiProperty({
    enum: DERIVED_DATA,
    example: 'counter',
    description:
      '`counter`: a total. `listItems`: what filters find a record by. `head`: the clock, the last identifier, or the mark by ' +
      'which processes follow one another.',
  })
  readonly data!: InvalidDerived['data'];

  @ApiProperty({
    example: 'entities:type:service',
    description: 'Of the counter, the id of the record, or the column of the head record.',
  })
  readonly name!: string;
}

export class TreeResponse {
  @ApiProperty({ type: 'integer', minimum: 0, example: 1, description: 'Number of entries in the tree.' })
  readonly size!: number;

  @ApiProperty({ example: EXAMPLE_HASH, description: 'Root of the Merkle tree that the entries make, in hex.' })
  readonly rootHash!: string;

  @ApiProperty({
    description: 'What is stored of the tree, and checkpoints and proofs are made of, is that very tree.',
  })
  readonly matches!: boolean;
}

export class CheckpointVerdictResponse {
  @ApiProperty({ example: 'agent-governance-service', description: 'What the log calls itself in the checkpoint.' })
  readonly origin!: string;

  @ApiProperty({ type: 'integer', minimum: 0, example: 1 })
  readonly size!: number;

  @ApiProperty({ example: EXAMPLE_HASH, description: 'Root hash of the checkpoint, in hex.' })
  readonly rootHash!: string;

  @ApiProperty({
    type: String,
    enum: ['valid', 'unknown_key', 'invalid'],
    example: 'valid',
    description: 'Whether it was signed by this log: its signing key, or one of SIGNING_KEY_PREVIOUS.',
  })
  readonly signature!: SignatureVerdict;

  @ApiProperty({
    description: 'The first entries of the log, as many as the checkpoint has, are those it was made of.',
  })
  readonly extended!: boolean;
}

@ApiExtraModels(TreeResponse)
export class VerificationResponse {
  @ApiProperty({
    description:
      'True when no link is broken, no hash is wrong and the stored tree matches; with `state`, when no record and no derived ' +
      'data is wrong, either; with a checkpoint, when the log extends it and its signature is not a forged one.',
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
    description: 'Where the head record said, at the start, that the chain ends.',
  })
  readonly head!: ChainHeadResponse;

  @ApiProperty({ type: 'integer', nullable: true, example: null, description: 'The first sequence at fault.' })
  readonly firstInvalid!: number | null;

  @ApiProperty({
    // Beside a reference, `nullable` would allow nothing.
    oneOf: [{ $ref: getSchemaPath(TreeResponse) }, { type: 'object', nullable: true, enum: [null] }],
    description: 'The Merkle tree over the entries; null with a `from` after the first, as it is not checked then.',
  })
  readonly tree!: TreeResponse | null;

  @ApiPropertyOptional({
    type: CheckpointVerdictResponse,
    description: 'Only when a checkpoint was sent: whether the log extends it.',
  })
  readonly checkpoint?: CheckpointVerdictResponse;

  @ApiProperty({ type: 'integer', minimum: 0, example: 12, description: 'Milliseconds the verification took.' })
  readonly durationMs!: number;

  @ApiProperty({ type: 'integer', minimum: 0, required: false, description: 'With `state`: records that were there.' })
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
    // Who looks at nothing but this must not miss what else was found.
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

/** What an unknown key signed can be true all the same; what a known key did not sign is forged. */
function isKept(checkpoint: CheckpointVerdict | null): boolean {
  return checkpoint === null || (checkpoint.extended && checkpoint.signature !== 'invalid');
}
