import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { ApiProperty } from '@nestjs/swagger';
import { ApiChoice, ApiMember, ApiNullableText } from '../../http/openapi/response-members';
import { sampleId } from '../../http/openapi/documentation.decorators';
import type { ApprovalRequirement } from './approval/approval-requirement';
import { ApprovalResponse } from './approval/approval-input';
import { ConditionResponse } from './conditions/condition-input';
import { PolicyLimitResponse } from './limits/limit-input';
import type { PolicyCondition } from './conditions/condition';
import type { PolicyLimit } from './limits/limit';
import { POLICY_EFFECTS, type PolicyEffect } from './evaluation/evaluation';
import type { RecordKind } from '../../ledger/kinds/record-kind';
import type { EntryNote } from '../../ledger/commands/ledger-transaction';
import type { JsonObject } from '../../core/json/json-value';

export const POLICY_STATUSES = ['active', 'superseded', 'inactive'] as const;
export type PolicyStatus = (typeof POLICY_STATUSES)[number];

/** One version of a policy as it is stored. */
@Entity('policies')
@Index(['name', 'version'], { unique: true })
@Index(['name', 'createdSequence'])
@Index(['status', 'createdSequence'])
@Index(['effect', 'createdSequence'])
@Index(['team', 'createdSequence'])
export class Policy {
  @PrimaryColumn('text')
  @ApiProperty({ example: sampleId('pol') })
  readonly id!: string;

  @Index({ unique: true })
  @Column('bigint')
  readonly createdSequence!: number;

  @Column('text')
  @ApiProperty({ example: 'collections-may-remind' })
  readonly name!: string;

  @Column('text')
  @ApiProperty({ example: '1.0' })
  readonly version!: string;

  @Column('text')
  @ApiProperty({ example: 'Collections agents may send reminders.' })
  readonly description!: string;

  @Column('text')
  @ApiProperty({ enum: POLICY_EFFECTS, enumName: 'PolicyEffect', example: 'allow' })
  readonly effect!: PolicyEffect;

  @Column('simple-json')
  @ApiProperty({ type: [String], example: ['role:collections'] })
  readonly subjects!: readonly string[];

  @Column('simple-json')
  @ApiProperty({ type: [String], example: ['send-reminder'] })
  readonly actions!: readonly string[];

  @Column('simple-json')
  @ApiProperty({ type: [String], example: ['invoices/*'] })
  readonly resources!: readonly string[];

  @Column('simple-json')
  @ApiMember('Empty: any type.', { type: [String], example: ['document'] })
  readonly resourceTypes!: readonly string[];

  @Column('integer')
  @ApiProperty({ type: 'integer', example: 10 })
  readonly priority!: number;

  @Column('simple-json', { default: '[]' })
  @ApiMember('All of them must hold.', { type: [ConditionResponse], example: [] })
  readonly conditions!: readonly PolicyCondition[];

  @Column('simple-json', { default: '[]' })
  @ApiMember('How much it allows in each window.', { type: [PolicyLimitResponse], example: [] })
  readonly limits!: readonly PolicyLimit[];

  @Column('simple-json', { default: '[]' })
  @ApiMember('On whose behalf it matches; empty: on anybody’s, or nobody’s.', { type: [String], example: [] })
  readonly onBehalfOf!: readonly string[];

  @Column('simple-json', { nullable: true })
  @ApiMember('What has to be approved; null unless the effect is `require_approval`.', {
    type: ApprovalResponse,
    nullable: true,
    example: null,
  })
  readonly approval!: ApprovalRequirement | null;

  @Column('text', { nullable: true })
  @ApiNullableText('The team to whose agents alone it applies; null: it applies to all.')
  readonly team!: string | null;

  @Column('text')
  @ApiChoice(
    ['PolicyStatus', POLICY_STATUSES],
    'active',
    '`active`: in force. `superseded`: another version took its place. `inactive`: taken out of force by `/deactivate`.',
  )
  readonly status!: PolicyStatus;

  @Column('simple-json')
  @ApiMember('Parts of the policy that match nothing, and why.', { type: [String], example: [] })
  readonly warnings!: readonly string[];

  @Column('text')
  @ApiProperty({ format: 'date-time', example: '2026-11-20T06:18:03.123Z' })
  readonly createdAt!: string;
}

/** The record kind of policies. The hashed members are frozen. */
export const POLICY: RecordKind<Policy> = {
  subjectType: 'policy',
  idPrefix: 'pol',
  table: Policy,
  hashedMembers: [
    'id',
    'name',
    'version',
    'description',
    'effect',
    'subjects',
    'actions',
    'resources',
    'resourceTypes',
    'priority',
    'status',
    'warnings',
    'createdAt',
  ],
  laterMembers: { approval: null, conditions: [], limits: [], onBehalfOf: [], team: null },
  uniqueKeys: [['name', 'version']],
  counter: 'policies',
  countedBy: ['status', 'effect', 'team'],
  team: { column: 'team', sharesOthers: true },
  decisive: {
    effect: POLICY_EFFECTS,
    status: POLICY_STATUSES,
    subjects: 'texts',
    actions: 'texts',
    resources: 'texts',
    resourceTypes: 'texts',
    onBehalfOf: 'texts',
  },
  isKeptInMemory: true,
};

/** Action of the entry that records that 80 % of a limit are used. */
export const LIMIT_WARNED = 'policy.limit_warned';

/** Every action that changes which policies are in force. */
export const POLICY_ACTIONS = [
  'policy.created',
  'policy.superseded',
  'policy.activated',
  'policy.deactivated',
] as const;
type PolicyAction = (typeof POLICY_ACTIONS)[number];

/**
 * Returns the note of a policy's audit entry: the policy, and the set in force after the commit, which is the same for
 * all entries of a request.
 */
export function noteOn(
  policy: Pick<Policy, 'id' | 'name' | 'version'>,
  action: PolicyAction,
  more: JsonObject & { readonly policySet: string },
): EntryNote {
  const { id, name, version } = policy;
  return { action, details: { policies: [{ id, name, version }], ...more } };
}
