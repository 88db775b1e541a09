import { ApiProperty } from '@nestjs/swagger';
import { sampleId } from '../../docs/sample-id';
import { AGENT_STATUSES } from '../agent.entity';
import type { Agent, AgentStatus } from '../agent.entity';

export class AgentResponse {
  @ApiProperty({ example: sampleId('agt') })
  readonly id!: string;

  @ApiProperty({ example: 'invoice-bot' })
  readonly name!: string;

  @ApiProperty({ example: 'Sends invoices and reminders.' })
  readonly description!: string;

  @ApiProperty({ type: [String], example: ['send-invoice', 'read-document'] })
  readonly capabilities!: readonly string[];

  @ApiProperty({ type: [String], example: ['billing'] })
  readonly roles!: readonly string[];

  @ApiProperty({ enum: AGENT_STATUSES, example: 'active', description: 'A suspended agent can do nothing.' })
  readonly status!: AgentStatus;

  @ApiProperty({ format: 'date-time', example: '2026-11-20T06:18:03.123Z' })
  readonly createdAt!: string;

  @ApiProperty({ format: 'date-time', example: '2026-11-20T06:18:03.123Z' })
  readonly updatedAt!: string;

  @ApiProperty({ type: 'integer', minimum: 1, example: 1, description: 'Counts the changes; it is the ETag.' })
  readonly revision!: number;

  static from(this: void, row: Agent): AgentResponse {
    const { id, name, description, capabilities, roles, status, createdAt, updatedAt, revision } = row;
    return { id, name, description, capabilities, roles, status, createdAt, updatedAt, revision };
  }
}
