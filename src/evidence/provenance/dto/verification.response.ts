import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { sampleId } from '../../../http/openapi/documentation.decorators';
import { RECORD_FAULTS, type RecordFault, DERIVED_DATA, type InvalidDerived, type TimedStateVerdict } from '../../verification/state-verifier';
import { EXAMPLE_HASH } from '../../checkpoints/dto/checkpoint.responses';
import type { SignatureVerdict } from '../../../core/signed-notes/signed-note';
import type { TimedVerdict, CheckpointVerdict } from '../../verification/chain-verifier';

export class InvalidRecordResponse {
  @ApiProperty({ example: 'entity' })
  readonly subjectType!: string;

  @ApiProperty({ example: sampleId('ent') })
  readonly subjectId!: string;

  @ApiProperty({
    enum: RECORD_FAULTS,
    enumName: 'RecordFault',
    example: 'changed',
    description:
      '`changed`: it is not as its last entry left it. `added`: no entry created it, or the last one removed it. ' +
      '`missing`: according to its last entry it should exist.',
  })
  readonly fault!: RecordFault;
}

export class InvalidDerivedResponse {
  @ApiProperty({
    enum: DERIVED_DATA,
    enumName: 'DerivedData',
    example: 'counter',
    description:
      '`counter`: a total. `listItems`: what filters find a record by. `head`: the clock, the last identifier, or the mark with ' +
      'which processes follow one another. `table`: something else is in its place, or hides its rows.',
  })
  readonly data!: InvalidDerived['data'];

  @ApiProperty({
    example: 'entities:type:service',
    description: 'Of the counter, the id of the record, the column of the head record, or the table.',
  })
  readonly name!: string;
}

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

  @ApiProperty({ type: 'integer', minimum: 0, example: 0, description: 'Entries whose contents were erased.' })
  readonly erased!: number;

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
    const {
      entriesVerified,
      brokenLinks,
      invalidHashes,
      erased,
      head,
      firstInvalid,
      tree,
      duration: durationMs,
    } = verdict;
    // A client that only looks at this member must not miss other findings.
    const valid = verdict.valid && tree?.matches !== false && isKept(checkpoint);
    const ofChain = {
      valid,
      entriesVerified,
      brokenLinks,
      invalidHashes,
      erased,
      head,
      firstInvalid,
      tree,
      durationMs,
    };
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
