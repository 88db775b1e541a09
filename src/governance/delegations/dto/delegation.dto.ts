import { OmitType } from '@nestjs/swagger';
import { type ResponseMapper, responseMapper } from '../../../http/openapi/response-members';
import { RequiredText, TimestampField } from '../../../http/validation/fields';
import { QueryOneOf } from '../../../http/validation/query-fields';
import { ListQuery } from '../../../http/lists/list.query';
import { NAMED_AGENT } from '../../agents/dto/agent.dto';
import { Delegation, DELEGATION_STATUSES, type DelegationStatus } from '../delegation.entity';

export class CreateDelegationRequest {
  @RequiredText({
    ...NAMED_AGENT,
    description: 'Id or name of the active person who may review in your place.',
    example: 'change-reviewer',
  })
  readonly to!: string;

  @TimestampField({
    description: 'The end: after the beginning, at most 90 days later, with a zone.',
    example: '2026-11-27T06:18:03Z',
  })
  readonly until!: string;

  @TimestampField({ optional: true, description: 'The beginning, in the future, with a zone. Default: now.' })
  readonly from?: string;
}

const SIDES = ['made', 'received'] as const;

export class DelegationListQuery extends ListQuery {
  @QueryOneOf(DELEGATION_STATUSES, { enumName: 'DelegationStatus', description: 'Only delegations with this status.' })
  readonly status?: DelegationStatus;

  @QueryOneOf(SIDES, {
    enumName: 'DelegationSide',
    description: 'Those that the person made (the default), or received.',
  })
  readonly side?: (typeof SIDES)[number];
}

export class DelegationResponse extends OmitType(Delegation, ['createdSequence', 'dueAt'] as const) {
  static readonly from: ResponseMapper<DelegationResponse> = responseMapper(DelegationResponse);
}
