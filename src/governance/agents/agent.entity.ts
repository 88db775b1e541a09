import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { ApiProperty } from '@nestjs/swagger';
import { AGENT_KINDS, type AgentKind } from './agent-name';
import { ApiChoice, ApiCount, ApiNullableText, ApiNullableTime } from '../../http/openapi/response-members';
import { sampleId } from '../../http/openapi/documentation.decorators';
import type { RecordKind } from '../../ledger/kinds/record-kind';

export const AGENT_STATUSES = ['active', 'suspended'] as const;
export type AgentStatus = (typeof AGENT_STATUSES)[number];

/** An agent as it is stored, and as responses show it. */
@Entity('agents')
@Index(['name'], { unique: true })
@Index(['status', 'createdSequence'])
@Index(['kind', 'createdSequence'])
@Index(['team', 'createdSequence'], { where: '"team" IS NOT NULL' })
@Index(['slackId', 'createdSequence'], { where: '"slackId" IS NOT NULL' })
@Index(['directory', 'createdSequence'], { where: '"directory" IS NOT NULL' })
export class Agent {
  @PrimaryColumn('text')
  @ApiProperty({ example: sampleId('agt') })
  readonly id!: string;

  @Index({ unique: true })
  @Column('bigint')
  readonly createdSequence!: number;

  /** Unique name in Unicode normal form C; never changes. */
  @Column('text')
  @ApiProperty({ example: 'reminder-bot' })
  readonly name!: string;

  /** The kind of an agent never changes. */
  @Column('text', { default: 'machine' })
  @ApiChoice(['AgentKind', AGENT_KINDS], 'machine', 'A person who reviews is an agent of kind `human`.')
  readonly kind!: AgentKind;

  @Column('text')
  @ApiProperty({ example: 'Sends reminders of invoices.' })
  readonly description!: string;

  @Column('simple-json')
  @ApiProperty({ type: [String], example: ['send-reminder', 'read-document'] })
  readonly capabilities!: readonly string[];

  @Column('simple-json')
  @ApiProperty({ type: [String], example: ['collections'] })
  readonly roles!: readonly string[];

  @Column('text')
  @ApiChoice(['AgentStatus', AGENT_STATUSES], 'active', 'A suspended agent can do nothing.')
  readonly status!: AgentStatus;

  @Column('text', { nullable: true })
  @ApiNullableTime('Until then, it is also authorised to do what no policy allows, which is marked as `observed`.')
  readonly observeUntil!: string | null;

  /** No two agents have the same Slack id. */
  @Column('text', { nullable: true })
  @ApiNullableText("The person's id in Slack: `<team>/<user>`.")
  readonly slackId!: string | null;

  /** No two agents have the same directory id. */
  @Column('text', { nullable: true })
  @ApiNullableText("The person's id in the directory that manages the person: the `externalId` there.")
  readonly directory!: string | null;

  @Column('text', { nullable: true })
  @ApiNullableText('The team of a machine, whose policies apply to it; null: it is in none.')
  readonly team!: string | null;

  @Column('text')
  @ApiProperty({ format: 'date-time', example: '2026-11-20T06:18:03.123Z' })
  readonly createdAt!: string;

  @Column('text')
  @ApiProperty({ format: 'date-time', example: '2026-11-20T06:18:03.123Z' })
  readonly updatedAt!: string;

  @Column('integer')
  @ApiCount('Incremented by each change; used as the ETag.', { minimum: 1 })
  readonly revision!: number;
}

/**
 * The record kind of agents. Never change `hashedMembers`, because the hashes of existing records depend on this list.
 */
export const AGENT: RecordKind<Agent> = {
  subjectType: 'agent',
  idPrefix: 'agt',
  table: Agent,
  hashedMembers: ['id', 'name', 'description', 'capabilities', 'roles', 'status', 'createdAt', 'updatedAt', 'revision'],
  laterMembers: { kind: 'machine', observeUntil: null, slackId: null, directory: null, team: null },
  uniqueKeys: [['name']],
  counter: 'agents',
  countedBy: ['status', 'kind', 'team'],
  listColumns: ['capabilities', 'roles'],
  team: { column: 'team' },
  decisive: { capabilities: 'texts', roles: 'texts', status: AGENT_STATUSES },
};

/** Returns the members that every change of an agent sets. */
export function nextRevision({ revision }: Agent, now: string): Pick<Agent, 'updatedAt' | 'revision'> {
  return { updatedAt: now, revision: revision + 1 };
}
