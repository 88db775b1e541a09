import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { AgentKind } from './agent-name';
import type { RecordKind } from '../../ledger/record-kind';

export const AGENT_STATUSES = ['active', 'suspended'] as const;
export type AgentStatus = (typeof AGENT_STATUSES)[number];

/** The condition of the index of people in Slack. */
export const HAS_SLACK_ID = '"slackId" IS NOT NULL';

/** An agent as it is stored. */
@Entity('agents')
@Index(['name'], { unique: true })
@Index(['status', 'createdSequence'])
@Index(['kind', 'createdSequence'])
@Index(['slackId', 'createdSequence'], { where: HAS_SLACK_ID })
export class Agent {
  @PrimaryColumn('text')
  readonly id!: string;

  @Index({ unique: true })
  @Column('bigint')
  readonly createdSequence!: number;

  /** In Unicode normal form C; never changes. */
  @Column('text')
  readonly name!: string;

  /** Never changes. */
  @Column('text', { default: 'machine' })
  readonly kind!: AgentKind;

  @Column('text')
  readonly description!: string;

  /** Names of the actions the agent may use. */
  @Column('simple-json')
  readonly capabilities!: readonly string[];

  @Column('simple-json')
  readonly roles!: readonly string[];

  @Column('text')
  readonly status!: AgentStatus;

  /** Until then, what no policy allows is authorised and noted; null if it is not observed. */
  @Column('text', { nullable: true })
  readonly observeUntil!: string | null;

  /** The person's user in Slack, `<team>/<user>`, which no other agent has; null if it is not known. */
  @Column('text', { nullable: true })
  readonly slackId!: string | null;

  @Column('text')
  readonly createdAt!: string;

  @Column('text')
  readonly updatedAt!: string;

  @Column('integer')
  readonly revision!: number;
}

/** How the ledger keeps agents. The hashed members are frozen. */
export const AGENT: RecordKind<Agent> = {
  subjectType: 'agent',
  idPrefix: 'agt',
  table: Agent,
  hashedMembers: ['id', 'name', 'description', 'capabilities', 'roles', 'status', 'createdAt', 'updatedAt', 'revision'],
  laterMembers: { kind: 'machine', observeUntil: null, slackId: null },
  uniqueKeys: [['name']],
  counter: 'agents',
  countedBy: ['status', 'kind'],
  listColumns: ['capabilities', 'roles'],
  decisive: { capabilities: 'texts', roles: 'texts', status: AGENT_STATUSES },
};
