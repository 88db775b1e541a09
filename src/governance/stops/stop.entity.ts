import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { RecordKind } from '../../ledger/record-kind';

export const STOP_STATUSES = ['active', 'lifted'] as const;
export type StopStatus = (typeof STOP_STATUSES)[number];

/** Somebody has stopped agents: what it covers is not authorised until it is lifted. */
@Entity('stops')
@Index(['status', 'createdSequence'])
export class Stop {
  @PrimaryColumn('text')
  readonly id!: string;

  @Index({ unique: true })
  @Column('bigint')
  readonly createdSequence!: number;

  /** Null: every agent, and subjects that are none. */
  @Column('text', { nullable: true })
  readonly agentId!: string | null;

  /** Null: whatever the roles. */
  @Column('text', { nullable: true })
  readonly role!: string | null;

  /** Patterns, as in policies; none: every action. */
  @Column('simple-json')
  readonly actions!: readonly string[];

  @Column('text')
  readonly reason!: string;

  @Column('text')
  readonly status!: StopStatus;

  @Column('text')
  readonly createdAt!: string;

  @Column('text', { nullable: true })
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
