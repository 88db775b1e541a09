import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { ApiProperty } from '@nestjs/swagger';
import { ApiChoice, ApiMember, ApiNullableText, ApiNullableTime } from '../../http/openapi/answer-members';
import { sampleId } from '../../http/openapi/documentation.decorators';
import type { RecordKind } from '../../ledger/record-kind';

export const STOP_STATUSES = ['active', 'lifted'] as const;
export type StopStatus = (typeof STOP_STATUSES)[number];

/** Somebody has stopped agents: what it covers is not authorised until it is lifted. */
@Entity('stops')
@Index(['status', 'createdSequence'])
export class Stop {
  @PrimaryColumn('text')
  @ApiProperty({ example: sampleId('stp') })
  readonly id!: string;

  @Index({ unique: true })
  @Column('bigint')
  readonly createdSequence!: number;

  /** Null includes subjects that are no agents. */
  @Column('text', { nullable: true })
  @ApiNullableText('The agent that is stopped; null: every agent.', sampleId('agt'))
  readonly agentId!: string | null;

  @Column('text', { nullable: true })
  @ApiNullableText('The role that is stopped; null: whatever the roles.')
  readonly role!: string | null;

  /** Patterns, as in policies. */
  @Column('simple-json')
  @ApiMember('The actions that are stopped; none: every action.', { type: [String], example: ['delete-*'] })
  readonly actions!: readonly string[];

  @Column('text')
  @ApiProperty({ example: 'It deletes what it should archive.' })
  readonly reason!: string;

  @Column('text')
  @ApiChoice(['StopStatus', STOP_STATUSES], 'active', 'Whether it still stops what it covers.')
  readonly status!: StopStatus;

  @Column('text')
  @ApiProperty({ format: 'date-time', example: '2026-11-20T06:18:03.123Z' })
  readonly createdAt!: string;

  @Column('text', { nullable: true })
  @ApiNullableTime('When it was lifted.')
  readonly liftedAt!: string | null;

  /** Who may lift it besides `admin`: the maker's agent, or else its key; empty once it is lifted. Not hashed. */
  @Column('text')
  readonly createdBy!: string;
}

/** How the ledger keeps stops. The hashed members are frozen. */
export const STOP: RecordKind<Stop> = {
  subjectType: 'stop',
  idPrefix: 'stp',
  table: Stop,
  hashedMembers: ['id', 'agentId', 'role', 'actions', 'reason', 'status', 'createdAt', 'liftedAt'],
  counter: 'stops',
  countedBy: ['status'],
  decisive: { status: STOP_STATUSES, actions: 'texts' },
  fixed: ['agentId', 'role'],
  isKeptInMemory: true,
  unhashedAgree: ({ status, createdBy }, { agentId, actorType, actorId }) =>
    createdBy === (status === 'lifted' ? '' : (agentId ?? `${String(actorType)}:${String(actorId)}`)),
};

/** Every action that changes which stops are active. */
export const STOP_ACTIONS = ['stop.created', 'stop.lifted'] as const;
