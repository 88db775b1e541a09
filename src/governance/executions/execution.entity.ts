import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { JsonObject, JsonValue } from '../../core/json/json-value';
import type { DecidingPolicy } from '../policies/evaluation/evaluation';
import type { RecordKind } from '../../ledger/record-kind';
import type { EntryNote } from '../../ledger/ledger-transaction';

export const EXECUTION_OUTCOMES = [
  'authorized',
  'running',
  'executed',
  'failed',
  'interrupted',
  'pending_approval',
  'approved',
  'rejected',
  'expired',
  'cancelled',
  'denied',
] as const;
export type ExecutionOutcome = (typeof EXECUTION_OUTCOMES)[number];

/** The condition of the index of approvals that can expire. */
const AWAITS_RESUME = `"outcome" = 'approved'`;

/** What an agent asked to do, and its outcome, as it is stored. */
@Entity('executions')
@Index(['agentId', 'createdSequence'])
@Index(['action', 'createdSequence'])
@Index(['outcome', 'createdSequence'])
@Index(['createdAt', 'createdSequence'])
@Index(['agentId', 'action', 'createdSequence'])
@Index(['agentId', 'outcome', 'createdSequence'])
@Index(['action', 'outcome', 'createdSequence'])
@Index(['decisionId', 'createdSequence'])
@Index(['actionHash', 'createdSequence'])
@Index(['actionHash', 'outcome', 'createdSequence'])
@Index(['resourceType', 'createdSequence'])
@Index(['resourceId', 'createdSequence'])
@Index(['approvedUntil', 'id'], { where: AWAITS_RESUME })
export class Execution {
  @PrimaryColumn('text')
  readonly id!: string;

  @Index({ unique: true })
  @Column('bigint')
  readonly createdSequence!: number;

  @Column('text')
  readonly agentId!: string;

  @Column('text')
  readonly agentName!: string;

  @Column('text')
  readonly action!: string;

  @Column('text')
  readonly resourceType!: string;

  @Column('text')
  readonly resourceId!: string;

  @Column('simple-json')
  readonly parameters!: JsonObject;

  @Column('text')
  readonly outcome!: ExecutionOutcome;

  /** The machine reason of a denial; null otherwise. */
  @Column('text', { nullable: true })
  readonly reason!: string | null;

  /**
   * Hex SHA-256 of what was asked for: an approval is valid for exactly that. Null for executions created before
   * approvals existed.
   */
  @Column('text', { nullable: true })
  readonly actionHash!: string | null;

  /** When the approval expires unless it is used; null if there never was one. */
  @Column('text', { nullable: true })
  readonly approvedUntil!: string | null;

  /** The policies that decided. */
  @Column('simple-json')
  readonly policies!: readonly DecidingPolicy[];

  @Column('text', { nullable: true })
  readonly decisionId!: string | null;

  /** What the action handler returned. */
  @Column('simple-json', { nullable: true })
  readonly result!: JsonValue;

  /** A sentence. */
  @Column('text', { nullable: true })
  readonly failureReason!: string | null;

  @Column('text')
  readonly createdAt!: string;

  @Column('text', { nullable: true })
  readonly completedAt!: string | null;

  /**
   * The entity that is the resource, found when the execution began, so that all its audit entries name the same one.
   */
  @Column('text', { nullable: true })
  readonly entityId!: string | null;

  /** The process that runs the handler; empty if none does. Not hashed. */
  @Column('text', { default: '' })
  readonly runBy!: string;
}

/** How the ledger keeps executions. The hashed members are frozen. */
export const EXECUTION: RecordKind<Execution> = {
  subjectType: 'execution',
  idPrefix: 'exe',
  table: Execution,
  hashedMembers: [
    'id',
    'agentId',
    'agentName',
    'action',
    'resourceType',
    'resourceId',
    'parameters',
    'outcome',
    'policies',
    'decisionId',
    'result',
    'failureReason',
    'createdAt',
    'completedAt',
  ],
  laterMembers: { reason: null, actionHash: null, approvedUntil: null },
  counter: 'executions',
  freeForm: ['parameters', 'result'],
  visibility: { allWith: ['read', 'review'], agentColumn: 'agentId' },
  countedBy: ['agentId', 'action', 'outcome'],
  timeColumn: 'createdAt',
  fixed: ['agentId', 'agentName', 'action', 'resourceType', 'resourceId', 'actionHash', 'entityId'],
  due: { timeColumn: 'approvedUntil', where: AWAITS_RESUME },
  decisive: { outcome: EXECUTION_OUTCOMES },
  unhashedAgree: ({ entityId, outcome, runBy }, entry) =>
    entityId === entry.entityId && (outcome === 'running') === (runBy !== ''),
};

type Named = Pick<
  Execution,
  'agentId' | 'entityId' | 'action' | 'resourceType' | 'resourceId' | 'policies' | 'decisionId'
>;

/**
 * What every audit entry of an execution says: who acted, on what, which policies decided, and which decision it
 * depends on.
 */
export function noteOf(execution: Named, action: string): EntryNote & { readonly details: JsonObject } {
  const { agentId, entityId, resourceType, resourceId, decisionId } = execution;
  const policies = execution.policies.map(referenceOf);
  return {
    action,
    agentId,
    entityId,
    details: {
      action: execution.action,
      resourceType,
      resourceId,
      policies,
      ...(decisionId !== null && { decisionId }),
    },
  };
}

/** The same for what policies decided, with the set that was in force. */
export function decidedNote(execution: Named, action: string, policySet: string): EntryNote {
  const note = noteOf(execution, action);
  return { ...note, details: { policySet, ...note.details } };
}

const OUTCOME_ACTIONS = {
  approved: 'execution.approved',
  rejected: 'execution.rejected',
  expired: 'execution.expired',
  cancelled: 'execution.cancelled',
} as const;

/** An outcome that follows from an approval. */
type ApprovalOutcome = keyof typeof OUTCOME_ACTIONS;

/** The entry of an execution whose outcome changes because of its approval: named after the outcome. */
export function outcomeNote(execution: Execution, outcome: ApprovalOutcome, reason: string | null = null): EntryNote {
  return { ...noteOf(execution, OUTCOME_ACTIONS[outcome]), reason };
}

function referenceOf({ id, name, version }: DecidingPolicy): JsonObject {
  return { id, name, version };
}
