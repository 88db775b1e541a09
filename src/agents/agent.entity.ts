import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { AgentKind } from './agent-kind';

export const AGENT_STATUSES = ['active', 'suspended'] as const;
export type AgentStatus = (typeof AGENT_STATUSES)[number];

/** An agent as it is stored. */
@Entity('agents')
@Index(['name'], { unique: true })
@Index(['status', 'createdSequence'])
@Index(['kind', 'createdSequence'])
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

  @Column('text')
  readonly createdAt!: string;

  @Column('text')
  readonly updatedAt!: string;

  @Column('integer')
  readonly revision!: number;
}
