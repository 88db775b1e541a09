import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { ApiProperty } from '@nestjs/swagger';
import { ApiMember, ApiNullableText } from '../../../http/openapi/response-members';
import { sampleId } from '../../../http/openapi/documentation.decorators';
import { AGENT } from '../../agents/agent.entity';
import type { RecordKind } from '../../../ledger/kinds/record-kind';

export const GRANT_STATUSES = ['active', 'used_up', 'expired', 'revoked'] as const;
export type GrantStatus = (typeof GRANT_STATUSES)[number];

/** The condition of the index of grants that can expire. */
const CAN_EXPIRE = `"status" = 'active'`;

/** An approval for more than one action, until it is used up or expires. */
@Entity('grants')
@Index(['agentId', 'createdSequence'])
@Index(['agentId', 'status', 'createdSequence'])
@Index(['status', 'createdSequence'])
@Index(['decisionId', 'createdSequence'])
@Index(['until', 'id'], { where: CAN_EXPIRE })
export class Grant {
  @PrimaryColumn('text')
  @ApiProperty({ example: sampleId('grt') })
  readonly id!: string;

  @Index({ unique: true })
  @Column('bigint')
  readonly createdSequence!: number;

  @Column('text')
  @ApiProperty({ example: sampleId('agt') })
  readonly agentId!: string;

  @Column('text')
  @ApiMember('The decision whose reviewers gave it.', { example: sampleId('dec') })
  readonly decisionId!: string;

  @Column('text')
  @ApiProperty({ example: 'pay' })
  readonly action!: string;

  @Column('text')
  @ApiProperty({ example: 'invoice' })
  readonly resourceType!: string;

  @Column('text')
  @ApiMember('As it was requested; empty once it is erased.', { example: 'invoices/2026/0042' })
  readonly resourceId!: string;

  @Column('simple-json', { nullable: true })
  @ApiMember('Patterns of resources; null: exactly `resourceId`.', { type: [String], nullable: true, example: null })
  readonly resources!: readonly string[] | null;

  @Column('text', { nullable: true })
  @ApiNullableText('Hex SHA-256 of the RFC 8785 form of the parameters; null: any parameters.')
  readonly parametersHash!: string | null;

  @Column('text', { nullable: true })
  @ApiNullableText('The subject on whose behalf it may be used; null: on nobody’s.')
  readonly onBehalfOf!: string | null;

  @Column('text')
  @ApiMember('It cannot be used from then on.', { format: 'date-time', example: '2026-11-20T07:18:03.123Z' })
  readonly until!: string;

  /** The ledger stores the number of uses as a sum. */
  @Column('integer', { nullable: true })
  @ApiMember('How often it can be used; null: any number of times.', { type: 'integer', nullable: true, example: 10 })
  readonly uses!: number | null;

  @Column('text')
  readonly status!: GrantStatus;

  @Column('text')
  readonly createdAt!: string;
}

/** The record kind of grants. The hashed members are frozen. */
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
  team: { column: 'agentId', of: AGENT },
  fixed: ['agentId', 'decisionId', 'action', 'resourceType'],
};
