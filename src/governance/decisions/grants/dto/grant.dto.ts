import { ApiProperty } from '@nestjs/swagger';
import { ListQuery } from '../../../../http/lists/list.query';
import {
  ApiChoice,
  ApiCount,
  ApiMember,
  ApiNullableText,
  type ShownAs,
  shownAs,
} from '../../../../http/openapi/answer-members';
import { sampleId } from '../../../../http/openapi/documentation.decorators';
import { OptionalText, REMARK } from '../../../../http/validation/fields';
import { QueryOneOf, QueryText } from '../../../../http/validation/query-fields';
import { QueryAgent } from '../../../agents/dto/agent-fields';
import { GRANT_STATUSES, type GrantStatus } from '../grant.entity';

export class RevokeGrantRequest {
  @OptionalText({ ...REMARK, description: 'Kept in the audit trail only.', example: 'Wrong account.' })
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

export class GrantResponse {
  @ApiProperty({ example: sampleId('grt') })
  readonly id!: string;

  @ApiProperty({ example: sampleId('agt') })
  readonly agentId!: string;

  @ApiMember('The decision whose reviewers gave it.', { example: sampleId('dec') })
  readonly decisionId!: string;

  @ApiProperty({ example: 'pay' })
  readonly action!: string;

  @ApiProperty({ example: 'invoice' })
  readonly resourceType!: string;

  @ApiMember('As it was asked for; empty once it is erased.', { example: 'invoices/2026/0042' })
  readonly resourceId!: string;

  @ApiMember('Patterns of resources; null: exactly `resourceId`.', { type: [String], nullable: true, example: null })
  readonly resources!: readonly string[] | null;

  @ApiNullableText('Hex SHA-256 of the RFC 8785 form of the parameters; null: any parameters.')
  readonly parametersHash!: string | null;

  @ApiNullableText('The subject on whose behalf; null: on nobody’s.')
  readonly onBehalfOf!: string | null;

  @ApiMember('It serves nothing from then on.', { format: 'date-time', example: '2026-11-20T07:18:03.123Z' })
  readonly until!: string;

  @ApiMember('How often it serves; null: any number.', { type: 'integer', nullable: true, example: 10 })
  readonly uses!: number | null;

  @ApiCount('How often it has served.', { example: 3 })
  readonly used!: number;

  @ApiChoice(['GrantStatus', GRANT_STATUSES], 'active', 'Whether it still serves.')
  readonly status!: GrantStatus;

  @ApiProperty({ format: 'date-time', example: '2026-11-20T06:18:03.123Z' })
  readonly createdAt!: string;

  static readonly from: ShownAs<GrantResponse> = shownAs(GrantResponse);
}
