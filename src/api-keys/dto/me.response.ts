import { ApiProperty } from '@nestjs/swagger';
import { ActorResponse } from '../../audit/dto/audit-entry.response';
import { sampleId } from '../../openapi/sample-id';
import { type Caller, type Scope, SCOPES } from '../../ledger/caller';

export class MeResponse {
  @ApiProperty({ type: ActorResponse, description: 'The actor that audit entries of your requests name.' })
  readonly actor!: ActorResponse;

  @ApiProperty({ type: String, nullable: true, example: sampleId('agt'), description: 'Null: bound to no agent.' })
  readonly agentId!: string | null;

  @ApiProperty({ enum: SCOPES, enumName: 'Scope', isArray: true, example: ['execute', 'propose'] })
  readonly scopes!: readonly Scope[];

  @ApiProperty({ type: String, format: 'date-time', nullable: true, example: null, description: 'Null: never.' })
  readonly expiresAt!: string | null;

  static of({ actor, agentId, scopes, expiresAt }: Caller): MeResponse {
    return { actor, agentId, scopes, expiresAt };
  }
}
