import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { ApiChoice, ApiCount, ApiMember } from '../../../http/openapi/response-members';
import { sampleId } from '../../../http/openapi/documentation.decorators';
import {
  RECORD_FAULTS,
  type RecordFault,
  DERIVED_DATA,
  type InvalidDerived,
  type TimedStateVerdict,
} from '../../verification/state-verifier';
import { EXAMPLE_ROOT_HASH } from '../../checkpoints/dto/checkpoint.responses';
import type { SignatureVerdict } from '../../../core/signed-notes/signed-note';
import type { CheckpointVerdict } from '../../checkpoints/checkpoint';
import type { TimedVerdict } from '../../verification/chain-verifier';

class InvalidRecordResponse {
  @ApiProperty({ example: 'entity' })
  readonly subjectType!: string;

  @ApiProperty({ example: sampleId('ent') })
  readonly subjectId!: string;

  @ApiChoice(
    ['RecordFault', RECORD_FAULTS],
    'changed',
    '`changed`: it is not as its last entry left it. `added`: no entry created it, or the last one removed it. ' +
      '`missing`: according to its last entry it should exist.',
  )
  readonly fault!: RecordFault;
}

class InvalidDerivedResponse {
  @ApiChoice(
    ['DerivedData', DERIVED_DATA],
    'counter',
    '`counter`: a total. `listItems`: what filters find a record by. `head`: the clock, the last identifier, or the mark with ' +
      'which processes follow one another. `table`: something else is in its place, or hides its rows.',
  )
  readonly data!: InvalidDerived['data'];

  @ApiMember('The counter, the id of the record, the column of the head record, or the table.', {
    example: 'entities:type:service',
  })
  readonly name!: string;
}

class TreeResponse {
  @ApiCount('Number of entries in the tree.')
  readonly size!: number;

  @ApiMember('Root of the Merkle tree that the entries make, in hex.', { example: EXAMPLE_ROOT_HASH })
  readonly rootHash!: string;

  @ApiMember('Whether the stored tree, from which checkpoints and proofs are made, is that tree.')
  readonly matches!: boolean;
}

class CheckpointVerdictResponse {
  @ApiMember('Name of the log in the checkpoint.', { example: 'agent-governance-service' })
  readonly origin!: string;

  @ApiProperty({ type: 'integer', minimum: 0, example: 1 })
  readonly size!: number;

  @ApiMember('Root hash of the checkpoint, in hex.', { example: EXAMPLE_ROOT_HASH })
  readonly rootHash!: string;

  @ApiMember('Whether it was signed by this log: its signing key, or one of SIGNING_KEY_PREVIOUS.', {
    enum: ['valid', 'unknown_key', 'invalid'],
    enumName: 'SignatureVerdict',
    example: 'valid',
  })
  readonly signature!: SignatureVerdict;

  @ApiMember('Whether the first entries of the log, as many as the checkpoint has, are those it was made from.')
  readonly extended!: boolean;
}

export class ChainHeadResponse {
  @ApiProperty({ type: 'integer', minimum: 0, example: 1 })
  readonly sequence!: number;

  @ApiProperty({ example: '9f2c1e5b7a3d4860b1c2d3e4f5a69788796a5b4c3d2e1f00112233445566778a' })
  readonly hash!: string;
}

export class VerificationResponse {
  @ApiMember(
    'True when no link is broken, no hash is wrong and the stored tree matches; with `state`, when also no record and no derived ' +
      'data is wrong; with a checkpoint, when the log also extends it and its signature is not forged.',
  )
  readonly valid!: boolean;

  @ApiProperty({ type: 'integer', minimum: 0, example: 1 })
  readonly entriesVerified!: number;

  @ApiProperty({ type: 'integer', minimum: 0, example: 0 })
  readonly brokenLinks!: number;

  @ApiProperty({ type: 'integer', minimum: 0, example: 0 })
  readonly invalidHashes!: number;

  @ApiCount('Entries whose contents were erased.', { example: 0 })
  readonly erased!: number;

  @ApiMember('Where the chain ended according to the head record when the verification began.', {
    type: ChainHeadResponse,
  })
  readonly head!: ChainHeadResponse;

  @ApiMember('The first sequence at fault.', { type: 'integer', nullable: true, example: null })
  readonly firstInvalid!: number | null;

  @ApiMember(
    'The Merkle tree over the entries; null with a `from` after the first entry, since it is not checked then.',
    { type: TreeResponse, nullable: true },
  )
  readonly tree!: TreeResponse | null;

  @ApiPropertyOptional({
    type: CheckpointVerdictResponse,
    description: 'Only when a checkpoint was sent: whether the log extends it.',
  })
  readonly checkpoint?: CheckpointVerdictResponse;

  @ApiCount('Milliseconds the verification took.', { example: 12 })
  readonly durationMs!: number;

  @ApiMember('With `state`: number of records checked.', { type: 'integer', minimum: 0, required: false })
  readonly recordsVerified?: number;

  @ApiMember('With `state`: records that are not as the ledger left them.', {
    type: 'integer',
    minimum: 0,
    required: false,
  })
  readonly invalidRecords?: number;

  @ApiMember('With `state`: the first ten of them.', {
    type: InvalidRecordResponse,
    isArray: true,
    maxItems: 10,
    required: false,
  })
  readonly firstInvalidRecords?: readonly InvalidRecordResponse[];

  @ApiMember(
    'With `state`: totals, list items and columns of the head record that do not agree with records and entries.',
    { type: 'integer', minimum: 0, required: false },
  )
  readonly invalidDerived?: number;

  @ApiMember('With `state`: the first ten of them.', {
    type: InvalidDerivedResponse,
    isArray: true,
    maxItems: 10,
    required: false,
  })
  readonly firstInvalidDerived?: readonly InvalidDerivedResponse[];

  static from(
    this: void,
    verdict: TimedVerdict,
    state: TimedStateVerdict | null,
    checkpoint: CheckpointVerdict | null,
  ): VerificationResponse {
    const { roots: _roots, duration: durationMs, ...members } = verdict;
    // A client that only reads this member must not miss other findings.
    const valid = members.valid && members.tree?.matches !== false && isKept(checkpoint);
    const ofChain = { ...members, valid, durationMs };
    const answer = checkpoint === null ? ofChain : { ...ofChain, checkpoint };
    return state === null ? answer : withState(answer, state);
  }
}

function withState(ofChain: VerificationResponse, state: TimedStateVerdict): VerificationResponse {
  const { duration, ...members } = state;
  return {
    ...ofChain,
    ...members,
    valid: ofChain.valid && members.invalidRecords === 0 && members.invalidDerived === 0,
    durationMs: ofChain.durationMs + duration,
  };
}

/**
 * True if the log extends the checkpoint, and its signature is not false. A checkpoint signed by an unknown key may be
 * genuine; one with a false signature of a known key is forged.
 */
function isKept(checkpoint: CheckpointVerdict | null): boolean {
  return checkpoint === null || (checkpoint.extended && checkpoint.signature !== 'invalid');
}
