import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { ApprovalRequirement } from './approval/approval-requirement';
import type { PolicyCondition } from './conditions/condition';
import type { PolicyLimit } from './limits/limit';
import { POLICY_EFFECTS, type PolicyEffect } from './evaluation/evaluation';
import type { RecordKind } from '../../ledger/record-kind';
import type { EntryNote } from '../../ledger/ledger-transaction';
import type { JsonObject } from '../../core/json/json-value';

export const POLICY_STATUSES = ['active', 'superseded', 'inactive'] as const;
export type PolicyStatus = (typeof POLICY_STATUSES)[number];

/** One version of a policy as it is stored. */
@Entity('policies')
@Index(['name', 'version'], { unique: true })
@Index(['name', 'createdSequence'])
@Index(['status', 'createdSequence'])
@Index(['effect', 'createdSequence'])
export class Policy {
  @PrimaryColumn('text')
  readonly id!: string;

  @Index({ unique: true })
  @Column('bigint')
  readonly createdSequence!: number;

  @Column('text')
  readonly name!: string;

  @Column('text')
  readonly version!: string;

  @Column('text')
  readonly description!: string;

  @Column('text')
  readonly effect!: PolicyEffect;

  @Column('simple-json')
  readonly subjects!: readonly string[];

  @Column('simple-json')
  readonly actions!: readonly string[];

  @Column('simple-json')
  readonly resources!: readonly string[];

  /** Empty: resources of any type. */
  @Column('simple-json')
  readonly resourceTypes!: readonly string[];

  @Column('integer')
  readonly priority!: number;

  /** All of them must hold. */
  @Column('simple-json', { default: '[]' })
  readonly conditions!: readonly PolicyCondition[];

  /** How much it allows by itself; empty unless the effect is `allow`. */
  @Column('simple-json', { default: '[]' })
  readonly limits!: readonly PolicyLimit[];

  /** Patterns of the principals that it is about; none: anybody, or nobody. */
  @Column('simple-json', { default: '[]' })
  readonly onBehalfOf!: readonly string[];

  /** What has to be approved; null unless the effect is `require_approval`. */
  @Column('simple-json', { nullable: true })
  readonly approval!: ApprovalRequirement | null;

  /** `active`: in force. `superseded`: replaced by another version. `inactive`: taken out of force. */
  @Column('text')
  readonly status!: PolicyStatus;

  /** Warnings about parts of the policy that match nothing. */
  @Column('simple-json')
  readonly warnings!: readonly string[];

  @Column('text')
  readonly createdAt!: string;
}

/** How the ledger keeps policies. The hashed members are frozen. */
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
  laterMembers: { approval: null, conditions: [], limits: [], onBehalfOf: [] },
  uniqueKeys: [['name', 'version']],
  counter: 'policies',
  countedBy: ['status', 'effect'],
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

/** The action of the entry that says that 80 % of a limit are used. */
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
 * The note of a policy's audit entry: the policy, and the set in force after the commit, which is the same for all
 * entries of a request.
 */
export function noteOn(
  policy: Pick<Policy, 'id' | 'name' | 'version'>,
  action: PolicyAction,
  more: JsonObject & { readonly policySet: string },
): EntryNote {
  const { id, name, version } = policy;
  return { action, details: { policies: [{ id, name, version }], ...more } };
}
