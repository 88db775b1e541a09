import { ApiProperty } from '@nestjs/swagger';
import { ApiMember } from '../../../http/openapi/response-members';
import { POLICY_DEFAULT_EFFECTS, type PolicyDefaultEffect } from '../../../core/config/variables/governance-variables';
import type { JsonObject } from '../../../core/json/json-value';
import { sampleId } from '../../../http/openapi/documentation.decorators';
import { EXAMPLE_HASH, ProvenanceProofResponse } from '../../provenance/dto/provenance.dto';

export const DECISION_FILE_FORMAT = 'agent-governance-evidence/1';

class ProvenEntryResponse extends ProvenanceProofResponse {
  @ApiMember('The audit path of the entry to the root of the checkpoint, from the leaf on.', {
    type: [String],
    example: [EXAMPLE_HASH],
  })
  readonly proof!: readonly string[];
}

class DecisionRulesResponse {
  @ApiMember('As `rules` in the details of entries.', { example: EXAMPLE_HASH })
  readonly hash!: string;

  @ApiProperty({ enum: POLICY_DEFAULT_EFFECTS, enumName: 'PolicyDefaultEffect', example: 'deny' })
  readonly defaultEffect!: PolicyDefaultEffect;

  @ApiMember('Version of the rules by which policies are evaluated.', { type: 'integer', example: 1 })
  readonly evaluation!: number;

  @ApiMember('Ids of the policies in force, in order.', { type: [String], example: [sampleId('pol')] })
  readonly policies!: readonly string[];
}

/** The file in the API document; it is written piece by piece. */
export class DecisionFileResponse {
  @ApiProperty({ enum: [DECISION_FILE_FORMAT] })
  readonly format!: typeof DECISION_FILE_FORMAT;

  @ApiMember('The execution that it is about; absent in the file of a change.', {
    required: false,
    example: sampleId('exe'),
  })
  readonly executionId?: string;

  @ApiMember('The decision on the change that it is about; absent in the file of an execution.', { required: false })
  readonly decisionId?: string;

  @ApiMember('A signed checkpoint that covers all entries.')
  readonly checkpoint!: string;

  @ApiMember('By sequence.', { type: [ProvenEntryResponse] })
  readonly entries!: readonly ProvenEntryResponse[];

  @ApiMember('The rules that the entries, and the change, name, in that order.', { type: [DecisionRulesResponse] })
  readonly rules!: readonly DecisionRulesResponse[];

  @ApiMember(
    'The contents of all policies of `rules`, each once, by id: as hashed, without `status`, `warnings` and `createdAt`.',
    { type: 'array', items: { type: 'object', additionalProperties: true } },
  )
  readonly policies!: readonly JsonObject[];
}
