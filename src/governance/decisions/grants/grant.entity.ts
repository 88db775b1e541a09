import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { RecordKind } from '../../../ledger/record-kind';

export const GRANT_STATUSES = ['active', 'used_up', 'expired', 'revoked'] as const;
export type GrantStatus = (typeof GRANT_STATUSES)[number];

/** The condition of the index of grants that can expire. */
const CAN_EXPIRE = `"status" = 'active'`;

/** An approval that is good for more than one action, until it is used up or over. */
@Entity('grants')
@Index(['agentId', 'createdSequence'])
@Index(['agentId', 'status', 'createdSequence'])
@Index(['status', 'createdSequence'])
@Index(['decisionId', 'createdSequence'])
@Index(['until', 'id'], { where: CAN_EXPIRE })
export class Grant {
  @PrimaryColumn('text')
  readonly id!: string;

  @Index({ unique: true })
  @Column('bigint')
  readonly createdSequence!: number;

  @Column('text')
  readonly agentId!: string;

  /** The decision whose reviewers gave it. */
  @Column('text')
  readonly decisionId!: string;

  @Column('text')
  readonly action!: string;

  @Column('text')
  readonly resourceType!: string;

  /** As it was asked for; empty once it is erased. */
  @Column('text')
  readonly resourceId!: string;

  /** Patterns; null: exactly `resourceId`. */
  @Column('simple-json', { nullable: true })
  readonly resources!: readonly string[] | null;

  /** Hex SHA-256 of the RFC 8785 form of the parameters; null: any. */
  @Column('text', { nullable: true })
  readonly parametersHash!: string | null;

  /** The subject on whose behalf; null: on nobody's. */
  @Column('text', { nullable: true })
  readonly onBehalfOf!: string | null;

  /** ISO 8601: it serves nothing from this time on. */
  @Column('text')
  readonly until!: string;

  /** Null: any number. How many are used is a sum that the ledger keeps. */
  @Column('integer', { nullable: true })
  readonly uses!: number | null;

  @Column('text')
  readonly status!: GrantStatus;

  @Column('text')
  readonly createdAt!: string;
}

/** How the ledger keeps grants. The hashed members are frozen. */
export const GRANT: RecordKind<Grant> = {
  subjectType: 'grant',
  idPrefix: 'grt',
  table: Grant,
  hashedMembers: [
    ...(['id', 'agentId', 'decisionId', 'action', 'resourceType', 'resourceId', 'resources'] as const),
    ...(['parametersHash', 'onBehalfOf', 'until', 'uses', 'status', 'createdAt'] as const),
  ],
  counter: 'grants',
  countedBy: ['agentId', 'status'],
  decisive: { status: GRANT_STATUSES },
  due: { timeColumn: 'until', where: CAN_EXPIRE },
  visibility: { allWith: ['read', 'review'], agentColumn: 'agentId' },
  fixed: ['agentId', 'decisionId', 'action', 'resourceType'],
};
