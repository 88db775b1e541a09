import { ApiProperty } from '@nestjs/swagger';
import { sampleId } from '../../../http/openapi/documentation.decorators';
import { AGENT_KINDS, type AgentKind } from '../agent-name';
import { AGENT_STATUSES, type Agent, type AgentStatus } from '../agent.entity';

export class AgentResponse {
  @ApiProperty({ example: sampleId('agt') })
  readonly id!: string;

  @ApiProperty({ example: 'reminder-bot' })
  readonly name!: string;

  @ApiProperty({
    enum: AGENT_KINDS,
    enumName: 'AgentKind',
    example: 'machine',
    description: 'A person who reviews is an agent of kind `human`.',
  })
  readonly kind!: AgentKind;

  @ApiProperty({ example: 'Sends reminders of invoices.' })
  readonly description!: string;

  @ApiProperty({ type: [String], example: ['send-reminder', 'read-document'] })
  readonly capabilities!: readonly string[];

  @ApiProperty({ type: [String], example: ['collections'] })
  readonly roles!: readonly string[];

  @ApiProperty({
    enum: AGENT_STATUSES,
    enumName: 'AgentStatus',
    example: 'active',
    description: 'A suspended agent can do nothing.',
  })
  readonly status!: AgentStatus;

  @ApiProperty({ format: 'date-time', example: '2026-11-20T06:18:03.123Z' })
  readonly createdAt!: string;

  @ApiProperty({ format: 'date-time', example: '2026-11-20T06:18:03.123Z' })
  readonly updatedAt!: string;

  @ApiProperty({
    type: 'integer',
    minimum: 1,
    example: 1,
    description: 'Incremented by each change; used as the ETag.',
  })
  readonly revision!: number;

  static from(this: void, row: Agent): AgentResponse {
    const { id, name, kind, description, capabilities, roles, status, createdAt, updatedAt, revision } = row;
    return { id, name, kind, description, capabilities, roles, status, createdAt, updatedAt, revision };
  }
}
