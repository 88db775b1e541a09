import { ApiProperty } from '@nestjs/swagger';
import { ApiChoice, ApiCount, ApiNullableText } from '../../../http/openapi/answer-members';
import { sampleId } from '../../../http/openapi/documentation.decorators';
import { AGENT_KINDS, type AgentKind } from '../agent-name';
import { AGENT_STATUSES, type Agent, type AgentStatus } from '../agent.entity';

export class AgentResponse {
  @ApiProperty({ example: sampleId('agt') })
  readonly id!: string;

  @ApiProperty({ example: 'reminder-bot' })
  readonly name!: string;

  @ApiChoice(['AgentKind', AGENT_KINDS], 'machine', 'A person who reviews is an agent of kind `human`.')
  readonly kind!: AgentKind;

  @ApiProperty({ example: 'Sends reminders of invoices.' })
  readonly description!: string;

  @ApiProperty({ type: [String], example: ['send-reminder', 'read-document'] })
  readonly capabilities!: readonly string[];

  @ApiProperty({ type: [String], example: ['collections'] })
  readonly roles!: readonly string[];

  @ApiChoice(['AgentStatus', AGENT_STATUSES], 'active', 'A suspended agent can do nothing.')
  readonly status!: AgentStatus;

  @ApiProperty({
    type: String,
    format: 'date-time',
    nullable: true,
    example: null,
    description: 'Until then, what no policy allows is authorised for it, and noted as `observed`.',
  })
  readonly observeUntil!: string | null;

  @ApiNullableText('Who a person is in Slack: `<team>/<user>`.')
  readonly slackId!: string | null;

  @ApiProperty({ format: 'date-time', example: '2026-11-20T06:18:03.123Z' })
  readonly createdAt!: string;

  @ApiProperty({ format: 'date-time', example: '2026-11-20T06:18:03.123Z' })
  readonly updatedAt!: string;

  @ApiCount('Incremented by each change; used as the ETag.', { minimum: 1 })
  readonly revision!: number;

  static from(this: void, row: Agent): AgentResponse {
    const { id, name, kind, description, capabilities, roles, status, observeUntil, slackId } = row;
    const { createdAt, updatedAt, revision } = row;
    return {
      ...{ id, name, kind, description, capabilities, roles, status },
      ...{ observeUntil, slackId, createdAt, updatedAt, revision },
    };
  }
}

export class AgentWithEmailResponse extends AgentResponse {
  @ApiProperty({
    ...{ type: String, nullable: true, required: false, example: 'ann@example.com' },
    description: 'For the person and for admins only: where mails go.',
  })
  readonly email?: string | null;
}
