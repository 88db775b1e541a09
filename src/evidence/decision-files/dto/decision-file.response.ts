import { ApiProperty } from '@nestjs/swagger';
import { POLICY_DEFAULT_EFFECTS, type PolicyDefaultEffect } from '../../../core/config/variables/governance-variables';
import type { JsonObject } from '../../../core/json/json-value';
import { sampleId } from '../../../http/openapi/documentation.decorators';
import { EXAMPLE_HASH, ProvenanceProofResponse } from '../../provenance/dto/provenance-entry.response';

export const DECISION_FILE_FORMAT = 'agent-governance-evidence/1';

export class ProvenEntryResponse extends ProvenanceProofResponse {
  @ApiProperty({
    type: [String],
    example: [EXAMPLE_HASH],
    description: 'The audit path of the entry to the root of the checkpoint, from the leaf on.',
  })
  readonly proof!: readonly string[];
}

export class DecisionRulesResponse {
  @ApiProperty({ example: EXAMPLE_HASH, description: '`rules` in the details of entries.' })
  readonly hash!: string;

  @ApiProperty({ enum: POLICY_DEFAULT_EFFECTS, enumName: 'PolicyDefaultEffect', example: 'deny' })
  readonly defaultEffect!: PolicyDefaultEffect;

  @ApiProperty({ type: 'integer', example: 1, description: 'Version of the rules by which policies are evaluated.' })
  readonly evaluation!: number;

  @ApiProperty({ type: [String], example: [sampleId('pol')], description: 'Ids of the policies in force, in order.' })
  readonly policies!: readonly string[];
}

/** For the API document: the file is written piece by piece. */
export class DecisionFileResponse {
  @ApiProperty({ enum: [DECISION_FILE_FORMAT] })
  readonly format!: typeof DECISION_FILE_FORMAT;

  @ApiProperty({ example: sampleId('exe') })
  readonly executionId!: string;

  @ApiProperty({ description: 'A signed checkpoint that covers all entries.' })
  readonly checkpoint!: string;

  @ApiProperty({ type: [ProvenEntryResponse], description: 'By sequence.' })
  readonly entries!: readonly ProvenEntryResponse[];

  @ApiProperty({
    type: [DecisionRulesResponse],
    description: 'Those that the entries name, in the order in which they do.',
  })
  readonly rules!: readonly DecisionRulesResponse[];

  @ApiProperty({
    type: 'array',
    items: { type: 'object', additionalProperties: true },
    description:
      'The contents of all policies of `rules`, each once, by id: as hashed, without `status`, `warnings` and `createdAt`.',
  })
  readonly policies!: readonly JsonObject[];
}
