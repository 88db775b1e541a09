import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { ApiProperty } from '@nestjs/swagger';
import { ApiChoice, ApiMember, ApiNullableTime } from '../../http/openapi/response-members';
import { sampleId } from '../../http/openapi/documentation.decorators';
import type { RecordKind } from '../../ledger/kinds/record-kind';

export const DELEGATION_STATUSES = ['waiting', 'active', 'ended', 'expired'] as const;
export type DelegationStatus = (typeof DELEGATION_STATUSES)[number];

/** The condition of the index of delegations that will change by themselves. */
const WILL_CHANGE = `"dueAt" IS NOT NULL`;

/** A delegation: while it is active, another person may review in the place of the one who made it. */
@Entity('delegations')
@Index(['agentId', 'createdSequence'])
@Index(['to', 'createdSequence'])
@Index(['agentId', 'status', 'createdSequence'])
@Index(['to', 'status', 'createdSequence'])
@Index(['status', 'createdSequence'])
@Index(['dueAt', 'id'], { where: WILL_CHANGE })
export class Delegation {
  @PrimaryColumn('text')
  @ApiProperty({ example: sampleId('dlg') })
  readonly id!: string;

  @Index({ unique: true })
  @Column('bigint')
  readonly createdSequence!: number;

  @Column('text')
  @ApiMember('The person who is away, and made it.', { example: sampleId('agt', 2) })
  readonly agentId!: string;

  @Column('text')
  @ApiMember('The person who may review in that place meanwhile.', { example: sampleId('agt', 2) })
  readonly to!: string;

  @Column('text')
  @ApiProperty({ format: 'date-time', example: '2026-11-20T06:18:03.123Z' })
  readonly from!: string;

  @Column('text')
  @ApiMember('It cannot be used from then on.', { format: 'date-time', example: '2026-11-27T06:18:03.123Z' })
  readonly until!: string;

  @Column('text')
  @ApiChoice(
    ['DelegationStatus', DELEGATION_STATUSES],
    'active',
    '`waiting` before `from`; `ended` by somebody, or `expired` at `until`.',
  )
  readonly status!: DelegationStatus;

  @Column('text')
  @ApiProperty({ format: 'date-time', example: '2026-11-20T06:18:03.123Z' })
  readonly createdAt!: string;

  @Column('text', { nullable: true })
  @ApiNullableTime('When it ended or expired.')
  readonly endedAt!: string | null;

  /** Time at which the status changes by itself; null once it is over. Not hashed. */
  @Column('text', { nullable: true })
  readonly dueAt!: string | null;
}

/** The record kind of delegations. The hashed members are frozen. */
export const DELEGATION: RecordKind<Delegation> = {
  subjectType: 'delegation',
  idPrefix: 'dlg',
  table: Delegation,
  hashedMembers: ['id', 'agentId', 'to', 'from', 'until', 'status', 'createdAt', 'endedAt'],
  counter: 'delegations',
  countedBy: ['agentId', 'to', 'status'],
  decisive: { status: DELEGATION_STATUSES },
  fixed: ['agentId', 'to'],
  due: { timeColumn: 'dueAt', where: WILL_CHANGE },
  isKeptInMemory: true,
  unhashedAgree: ({ status, from, until, dueAt }) =>
    dueAt === dueTime({ status, from, until } as Pick<Delegation, 'status' | 'from' | 'until'>),
};

/** Every action that changes which delegations are active. */
export const DELEGATION_ACTIONS = [
  'delegation.created',
  'delegation.started',
  'delegation.ended',
  'delegation.expired',
] as const;

/** Returns the time at which the status changes by itself; null once it is over. */
export function dueTime({ status, from, until }: Pick<Delegation, 'status' | 'from' | 'until'>): string | null {
  if (status === 'waiting') return from;
  return status === 'active' ? until : null;
}

export function isDelegationOver({ status }: Pick<Delegation, 'status'>): boolean {
  return status === 'ended' || status === 'expired';
}
