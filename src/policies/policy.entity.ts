import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { ApprovalRequirement } from './approval/approval-requirement';
import type { PolicyCondition } from './conditions/condition';
import type { PolicyEffect } from './evaluation/policy-effect';

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
