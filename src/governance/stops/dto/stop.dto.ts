import { ApiProperty } from '@nestjs/swagger';
import { actionPatternFault } from '../../../core/values/action-pattern';
import { exactLabelFault } from '../../../core/values/label-fault';
import { ListQuery } from '../../../http/lists/list.query';
import { ApiChoice, ApiNullableText, ApiNullableTime } from '../../../http/openapi/answer-members';
import { sampleId } from '../../../http/openapi/documentation.decorators';
import { DistinctStrings, OptionalText, RequiredText } from '../../../http/validation/fields';
import { QueryInteger, QueryOneOf } from '../../../http/validation/query-fields';
import { normaliseAgentName } from '../../agents/agent-name';
import { type Stop, STOP_STATUSES, type StopStatus } from '../stop.entity';

export class CreateStopRequest {
  @OptionalText({
    max: 200,
    normalise: normaliseAgentName,
    description: 'Id or name of the agent that is stopped. Left out: every agent.',
    example: 'reminder-bot',
  })
  readonly agentId?: string;

  @OptionalText({
    max: 100,
    rule: exactLabelFault,
    description: 'Only agents, and other subjects, that have this role. Left out: whatever their roles.',
  })
  readonly role?: string;

  @DistinctStrings({
    minItems: 1,
    maxItems: 50,
    item: { max: 500, rule: actionPatternFault },
    optional: true,
    description:
      'Only these actions: exact names; with a final `*`, every action that begins with the rest. Left out: every action.',
    example: ['delete-*'],
  })
  readonly actions?: string[];

  @RequiredText({ max: 2000, description: 'Why. Goes on record.', example: 'It deletes what it should archive.' })
  readonly reason!: string;
}

export class LiftStopRequest {
  @RequiredText({
    max: 2000,
    description: 'Why it may go on. Goes on record.',
    example: 'It archives again.',
  })
  readonly reason!: string;
}

export class StopListQuery extends ListQuery {
  @QueryOneOf(STOP_STATUSES, { enumName: 'StopStatus', description: 'Only stops of this status.' })
  readonly status?: StopStatus;

  @QueryInteger({
    min: 1,
    max: 60,
    description:
      'With `If-None-Match`: answers as soon as the list is another than that copy, or with 304 after this many seconds.',
  })
  readonly wait?: number;
}

export class StopResponse {
  @ApiProperty({ example: sampleId('stp') })
  readonly id!: string;

  @ApiNullableText('The agent that is stopped; null: every agent.', sampleId('agt'))
  readonly agentId!: string | null;

  @ApiNullableText('The role that is stopped; null: whatever the roles.')
  readonly role!: string | null;

  @ApiProperty({
    type: [String],
    example: ['delete-*'],
    description: 'The actions that are stopped; none: every action.',
  })
  readonly actions!: readonly string[];

  @ApiProperty({ example: 'It deletes what it should archive.' })
  readonly reason!: string;

  @ApiChoice(['StopStatus', STOP_STATUSES], 'active', 'Whether it still stops what it covers.')
  readonly status!: StopStatus;

  @ApiProperty({ format: 'date-time', example: '2026-11-20T06:18:03.123Z' })
  readonly createdAt!: string;

  @ApiNullableTime('When it was lifted.')
  readonly liftedAt!: string | null;

  static from(this: void, stop: Stop): StopResponse {
    const { id, agentId, role, actions, reason, status, createdAt, liftedAt } = stop;
    return { id, agentId, role, actions, reason, status, createdAt, liftedAt };
  }
}
