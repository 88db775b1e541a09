import { ApiProperty, OmitType } from '@nestjs/swagger';
import { ListQuery } from '../../../../http/lists/list.query';
import type { GrantInput } from '../../../policies/approval/approval-requirement';
import { ApiChoice, ApiCount, type ResponseMapper, responseMapper } from '../../../../http/openapi/response-members';
import { OptionalText, REMARK } from '../../../../http/validation/fields';
import { QueryOneOf, QueryText } from '../../../../http/validation/query-fields';
import { QueryAgent } from '../../../agents/dto/agent.dto';
import { Grant, GRANT_STATUSES, type GrantStatus } from '../grant.entity';
import {
  choiceShape,
  listShape,
  member,
  objectShape,
  textShape,
  freeFormShape,
} from '../../../../http/validation/shapes';
import { GRANT_DURATION, GRANT_USES } from '../../../policies/approval/approval-input';
import { resourcePatternFault } from '../../../policies/patterns/resources';

export class RevokeGrantRequest {
  @OptionalText({ ...REMARK, description: 'Kept in the audit trail only.', example: 'Wrong account.' })
  readonly reason?: string;
}

export class GrantListQuery extends ListQuery {
  @QueryAgent('Only grants for the agent with this id or name.')
  readonly agentId?: string;

  @QueryOneOf(GRANT_STATUSES, { enumName: 'GrantStatus', description: 'Only grants with this status.' })
  readonly status?: GrantStatus;

  @QueryText({ max: 100, description: 'Only the grant that the decision with this id gave.' })
  readonly decisionId?: string;
}

export class GrantResponse extends OmitType(Grant, ['createdSequence', 'status', 'createdAt'] as const) {
  @ApiCount('How often it has been used.', { example: 3 })
  readonly used!: number;

  @ApiChoice(['GrantStatus', GRANT_STATUSES], 'active', 'Whether it can still be used.')
  readonly status!: GrantStatus;

  @ApiProperty({ format: 'date-time', example: '2026-11-20T06:18:03.123Z' })
  readonly createdAt!: string;

  static readonly from: ResponseMapper<GrantResponse> = responseMapper(GrantResponse);
}

/** A grant as a reviewer sends it; null counts as left out. */
export type OfferedGrant = Pick<GrantInput, 'for'> & {
  readonly [Member in Exclude<keyof GrantInput, 'for'>]?: GrantInput[Member] | null;
};

const MAX_RESOURCES = 20;
const PATTERN = textShape({ max: 500, rule: resourcePatternFault });

/** The actions that an approval covers in addition to the requested one. */
export const OFFERED_GRANT = objectShape({
  for: member(GRANT_DURATION, { description: 'How long: an ISO 8601 duration.', example: 'PT1H' }),
  uses: member(GRANT_USES, { optional: true, description: 'Default: as many as the decision says.' }),
  resources: member(listShape(PATTERN, 1, MAX_RESOURCES, 'patterns'), {
    optional: true,
    description: 'Patterns of resources, as in an allow. Default: exactly the requested resource.',
  }),
  parameters: member(choiceShape(['same', 'any']), { optional: true, default: 'same' }),
});

/** The alternative that would be approved in place of a rejected execution. */
export const INSTEAD = objectShape({ parameters: member(freeFormShape(), { example: { amount: 80 } }) });

export function filledGrant({ for: length, uses, resources, parameters }: OfferedGrant): GrantInput {
  return { for: length, uses: uses ?? null, resources: resources ?? null, parameters: parameters ?? 'same' };
}
