import { ApiProperty } from '@nestjs/swagger';
import { ListQuery } from '../../../../http/lists/list.query';
import { ApiChoice, ApiCount, ApiNullableText } from '../../../../http/openapi/answer-members';
import { sampleId } from '../../../../http/openapi/documentation.decorators';
import { OptionalText } from '../../../../http/validation/fields';
import { QueryOneOf, QueryText } from '../../../../http/validation/query-fields';
import { QueryAgent } from '../../../agents/dto/agent-fields';
import { type Grant, GRANT_STATUSES, type GrantStatus } from '../grant.entity';

export class RevokeGrantRequest {
  @OptionalText({
    max: 2000,
    mayBeBlank: true,
    description: 'Kept in the audit trail only.',
    example: 'Wrong account.',
  })
  readonly reason?: string;
}

export class GrantListQuery extends ListQuery {
  @QueryAgent('Only grants for the agent with this id or name.')
  readonly agentId?: string;

  @QueryOneOf(GRANT_STATUSES, { enumName: 'GrantStatus', description: 'Only grants of this status.' })
  readonly status?: GrantStatus;

  @QueryText({ max: 100, description: 'Only the grant that the decision with this id gave.' })
  readonly decisionId?: string;
}

/** A grant, and how many of its uses are used. */
export interface UsedGrant {
  readonly grant: Grant;
  readonly used: number;
}

export class GrantResponse {
  @ApiProperty({ example: sampleId('grt') })
  readonly id!: string;

  @ApiProperty({ example: sampleId('agt') })
  readonly agentId!: string;

  @ApiProperty({ example: sampleId('dec'), description: 'The decision whose reviewers gave it.' })
  readonly decisionId!: string;

  @ApiProperty({ example: 'pay' })
  readonly action!: string;

  @ApiProperty({ example: 'invoice' })
  readonly resourceType!: string;

  @ApiProperty({ example: 'invoices/2026/0042', description: 'As it was asked for; empty once it is erased.' })
  readonly resourceId!: string;

  @ApiProperty({
    type: [String],
    nullable: true,
    example: null,
    description: 'Patterns of resources; null: exactly `resourceId`.',
  })
  readonly resources!: readonly string[] | null;

  @ApiNullableText('Hex SHA-256 of the RFC 8785 form of the parameters; null: any parameters.')
  readonly parametersHash!: string | null;

  @ApiNullableText('The subject on whose behalf; null: on nobody’s.')
  readonly onBehalfOf!: string | null;

  @ApiProperty({
    format: 'date-time',
    example: '2026-11-20T07:18:03.123Z',
    description: 'It serves nothing from then on.',
  })
  readonly until!: string;

  @ApiProperty({ type: 'integer', nullable: true, example: 10, description: 'How often it serves; null: any number.' })
  readonly uses!: number | null;

  @ApiCount('How often it has served.', { example: 3 })
  readonly used!: number;

  @ApiChoice(['GrantStatus', GRANT_STATUSES], 'active', 'Whether it still serves.')
  readonly status!: GrantStatus;

  @ApiProperty({ format: 'date-time', example: '2026-11-20T06:18:03.123Z' })
  readonly createdAt!: string;

  static from(this: void, { grant, used }: UsedGrant): GrantResponse {
    const { id, agentId, decisionId, action, resourceType, resourceId, resources } = grant;
    const { parametersHash, onBehalfOf, until, uses, status, createdAt } = grant;
    const meant = { id, agentId, decisionId, action, resourceType, resourceId, resources, parametersHash, onBehalfOf };
    return { ...meant, until, uses, used, status, createdAt };
  }
}
