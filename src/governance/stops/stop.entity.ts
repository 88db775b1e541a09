import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { ApiProperty } from '@nestjs/swagger';
import { ApiChoice, ApiMember, ApiNullableText, ApiNullableTime } from '../../http/openapi/response-members';
import { sampleId } from '../../http/openapi/documentation.decorators';
import type { RecordKind } from '../../ledger/kinds/record-kind';
import { matchesAction } from '../../core/values/action-pattern';

export const STOP_STATUSES = ['active', 'lifted'] as const;
export type StopStatus = (typeof STOP_STATUSES)[number];

/** A stop of agents: actions that it covers are not authorised until it is lifted. */
@Entity('stops')
@Index(['status', 'createdSequence'])
export class Stop {
  @PrimaryColumn('text')
  @ApiProperty({ example: sampleId('stp') })
  readonly id!: string;

  @Index({ unique: true })
  @Column('bigint')
  readonly createdSequence!: number;

  /** Null includes subjects that are not agents. */
  @Column('text', { nullable: true })
  @ApiNullableText('The agent that is stopped; null: every agent.', sampleId('agt'))
  readonly agentId!: string | null;

  @Column('text', { nullable: true })
  @ApiNullableText('The role that is stopped; null: any role, or none.')
  readonly role!: string | null;

  /** Patterns, as in policies. */
  @Column('simple-json')
  @ApiMember('The actions that are stopped; empty: every action.', { type: [String], example: ['delete-*'] })
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

  /**
   * The caller who may lift it besides `admin`: the maker's agent, or else the maker's key; empty once it is lifted.
   * Not hashed.
   */
  @Column('text')
  readonly createdBy!: string;
}

/** The record kind of stops. The hashed members are frozen. */
export const STOP: RecordKind<Stop> = {
  subjectType: 'stop',
  idPrefix: 'stp',
  table: Stop,
  hashedMembers: ['id', 'agentId', 'role', 'actions', 'reason', 'status', 'createdAt', 'liftedAt'],
  counter: 'stops',
  countedBy: ['status'],
  team: 'nobody',
  decisive: { status: STOP_STATUSES, actions: 'texts' },
  fixed: ['agentId', 'role'],
  isKeptInMemory: true,
  unhashedAgree: ({ status, createdBy }, { agentId, actorType, actorId }) =>
    createdBy === (status === 'lifted' ? '' : (agentId ?? `${String(actorType)}:${String(actorId)}`)),
};

/** All actions that change which stops are active. */
export const STOP_ACTIONS = ['stop.created', 'stop.lifted'] as const;

/** Scope of a stop: it covers requests that match all its members, and everything if it has none. */
export type StopScope = Pick<Stop, 'agentId' | 'role' | 'actions'>;

/** A subject that a stop may cover; it has no id unless it is a registered agent. */
export interface StoppableSubject {
  readonly agentId?: string;
  readonly roles: readonly string[];
}

/** Returns the oldest stop that covers the action. @param stops stops, the oldest first */
export function stopCovering<Stop extends StopScope>(
  stops: readonly Stop[],
  subject: StoppableSubject,
  action: string,
): Stop | undefined {
  return stops.find((stop) => concerns(stop, subject) && coversAction(stop, action));
}

/** True if the stop can cover any action of the subject. */
export function concerns({ agentId, role }: StopScope, subject: StoppableSubject): boolean {
  return (agentId === null || agentId === subject.agentId) && (role === null || subject.roles.includes(role));
}

export function coversAction({ actions }: StopScope, action: string): boolean {
  return actions.length === 0 || actions.some((pattern) => matchesAction(pattern, action));
}

export type StopContent = StopScope & Pick<Stop, 'reason'>;

/** True if two stops have the same content. The order of actions does not matter. */
export function isSameContent(one: StopContent, other: StopContent): boolean {
  const areSameActions =
    one.actions.length === other.actions.length && one.actions.every((action) => other.actions.includes(action));
  return areSameActions && one.agentId === other.agentId && one.role === other.role && one.reason === other.reason;
}
