import { OmitType } from '@nestjs/swagger';
import { actionPatternFault } from '../../../core/values/action-pattern';
import { exactLabelFault } from '../../../core/values/label-fault';
import { ListQuery } from '../../../http/lists/list.query';
import { NAMED_AGENT } from '../../agents/dto/agent.dto';
import { type ResponseMapper, responseMapper } from '../../../http/openapi/response-members';
import { DistinctStrings, OptionalText, RequiredText } from '../../../http/validation/fields';
import { QueryInteger, QueryOneOf } from '../../../http/validation/query-fields';
import { Stop, STOP_STATUSES, type StopStatus } from '../stop.entity';

export class CreateStopRequest {
  @OptionalText({
    ...NAMED_AGENT,
    description: 'Id or name of the agent that is stopped. Default: every agent.',
    example: 'reminder-bot',
  })
  readonly agentId?: string;

  @OptionalText({
    max: 100,
    rule: exactLabelFault,
    description: 'Only agents, and other subjects, that have this role. Default: whatever their roles.',
  })
  readonly role?: string;

  @DistinctStrings({
    minItems: 1,
    maxItems: 50,
    item: { max: 500, rule: actionPatternFault },
    optional: true,
    description:
      'Only these actions: exact names; with a final `*`, every action that begins with the rest. Default: every action.',
    example: ['delete-*'],
  })
  readonly actions?: string[];

  @RequiredText({ max: 2000, description: 'Why; it is recorded.', example: 'It deletes what it should archive.' })
  readonly reason!: string;
}

export class LiftStopRequest {
  @RequiredText({
    max: 2000,
    description: 'Why work may go on; it is recorded.',
    example: 'It archives again.',
  })
  readonly reason!: string;
}

export class StopListQuery extends ListQuery {
  @QueryOneOf(STOP_STATUSES, { enumName: 'StopStatus', description: 'Only stops with this status.' })
  readonly status?: StopStatus;

  @QueryInteger({
    min: 1,
    max: 60,
    description:
      'With `If-None-Match`: answers as soon as the list differs from that copy, or with 304 after this many seconds.',
  })
  readonly wait?: number;
}

export class StopResponse extends OmitType(Stop, ['createdSequence', 'createdBy'] as const) {
  static readonly from: ResponseMapper<StopResponse> = responseMapper(StopResponse);
}
