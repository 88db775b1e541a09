import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { RISK_LEVELS, type RiskLevel } from '../../core/config/variables/governance-variables';
import type { ApproverGroup, GivenGrant, GrantAllowance } from '../policies/approval/approval-requirement';
import type { OnBehalfOf } from '../policies/patterns/principals';
import type { JsonObject } from '../../core/json/json-value';
import type { PasskeySignature } from '../passkeys/webauthn';
import type { RecordKind } from '../../ledger/record-kind';
import type { EntryNote } from '../../ledger/ledger-transaction';

export const DECISION_STATUSES = ['proposed', 'approved', 'rejected', 'expired', 'cancelled'] as const;
export type DecisionStatus = (typeof DECISION_STATUSES)[number];

export const VERDICTS = ['approve', 'reject'] as const;
export type Verdict = (typeof VERDICTS)[number];

/** One reviewer's verdict. `approverId` is null when the holder of the API key rejected. */
export interface Review {
  readonly approverId: string | null;
  readonly verdict: Verdict;
  readonly comment: string | null;
  readonly createdAt: string;
  /**
   * Indexes of the approver groups that the reviewer could approve for at the time, signed ones only with a signature; absent
   * if the decision names none.
   */
  readonly groups?: readonly number[];
  /** The grant that the reviewer gave with an approval; absent if there was none. */
  readonly grant?: GivenGrant;
  /** The signature that a passkey of the reviewer made for exactly this approval; absent without one. */
  readonly signature?: PasskeySignature;
}

/** The condition of the index of decisions that can expire. */
export const CAN_EXPIRE = `"resolvedAt" IS NULL AND "expiresAt" IS NOT NULL`;

/** Something an agent proposed, and its outcome. */
@Entity('decisions')
@Index(['status', 'createdSequence'])
@Index(['riskLevel', 'createdSequence'])
@Index(['type', 'createdSequence'])
@Index(['proposedBy', 'createdSequence'])
@Index(['expiresAt', 'id'], { where: CAN_EXPIRE })
@Index(['status', 'riskLevel', 'createdSequence'])
@Index(['status', 'type', 'createdSequence'])
@Index(['status', 'proposedBy', 'createdSequence'])
@Index(['executionId', 'createdSequence'])
@Index(['traceId', 'createdSequence'], { where: '"traceId" IS NOT NULL' })
@Index(['run', 'createdSequence'], { where: '"run" IS NOT NULL' })
@Index(['createdSequence'], { where: `"erased" = 'false'` })
export class Decision {
  @PrimaryColumn('text')
  readonly id!: string;

  @Index({ unique: true })
  @Column('bigint')
  readonly createdSequence!: number;

  @Column('text')
  readonly type!: string;

  @Column('text')
  readonly title!: string;

  @Column('text')
  readonly description!: string;

  @Column('simple-json')
  readonly context!: JsonObject;

  /** Id of an agent. */
  @Column('text')
  readonly proposedBy!: string;

  @Column('text')
  readonly riskLevel!: RiskLevel;

  @Column('text')
  readonly status!: DecisionStatus;

  @Column('integer')
  readonly requiredApprovals!: number;

  @Column('simple-json')
  readonly reviews!: readonly Review[];

  @Column('text', { nullable: true })
  readonly expiresAt!: string | null;

  @Column('text')
  readonly createdAt!: string;

  @Column('text')
  readonly updatedAt!: string;

  /** When it was approved, rejected, cancelled, or expired. */
  @Column('text', { nullable: true })
  readonly resolvedAt!: string | null;

  /** The execution that waits for it; null if there is none. */
  @Column('text', { nullable: true })
  readonly executionId!: string | null;

  /** Hex SHA-256 of the action that the execution asks for. */
  @Column('text', { nullable: true })
  readonly actionHash!: string | null;

  /** Who has to approve; null: anyone who may, only the number counts. */
  @Column('simple-json', { nullable: true })
  readonly approvers!: readonly ApproverGroup[] | null;

  /** How long its execution may be started after approval: an ISO 8601 duration. */
  @Column('text', { nullable: true })
  readonly executeWithin!: string | null;

  /** The most that its approvers may give at once; null: nothing but this action. */
  @Column('simple-json', { nullable: true })
  readonly grant!: GrantAllowance | null;

  /** On whose behalf its execution is, repeated for lists. Not hashed, like `run`. */
  @Column('simple-json', { nullable: true })
  readonly onBehalfOf!: OnBehalfOf | null;

  @Column('text', { nullable: true })
  readonly run!: string | null;

  /** Whether its contents were erased. */
  @Column('simple-json', { default: 'false' })
  readonly erased!: boolean;

  /** The W3C trace of the request that proposed it; null if it named none. */
  @Column('text', { nullable: true })
  readonly traceId!: string | null;
}

/** How the ledger keeps decisions. The hashed members are frozen. */
export const DECISION: RecordKind<Decision> = {
  subjectType: 'decision',
  idPrefix: 'dec',
  table: Decision,
  hashedMembers: [
    'id',
    'type',
    'title',
    'description',
    'context',
    'proposedBy',
    'riskLevel',
    'status',
    'requiredApprovals',
    'reviews',
    'expiresAt',
    'createdAt',
    'updatedAt',
    'resolvedAt',
  ],
  laterMembers: {
    executionId: null,
    actionHash: null,
    approvers: null,
    executeWithin: null,
    erased: false,
    traceId: null,
    grant: null,
  },
  repeats: { table: 'executions', by: 'executionId', columns: ['onBehalfOf', 'run'] },
  counter: 'decisions',
  due: { timeColumn: 'expiresAt', where: CAN_EXPIRE },
  visibility: { allWith: ['read', 'review'], agentColumn: 'proposedBy' },
  countedBy: ['status', 'riskLevel', 'type', 'proposedBy'],
  decisive: { status: DECISION_STATUSES, riskLevel: RISK_LEVELS },
};

export function proposedNote({
  proposedBy,
  riskLevel,
  requiredApprovals,
}: Omit<Decision, 'createdSequence'>): EntryNote {
  return { action: 'decision.proposed', agentId: proposedBy, details: { riskLevel, requiredApprovals } };
}

/** A decision that nobody has reviewed; what is not given is that of one for which no execution waits. */
export function proposedDecision(
  id: string,
  now: string,
  given: Pick<Decision, 'type' | 'title' | 'proposedBy' | 'riskLevel' | 'requiredApprovals' | 'approvers' | 'traceId'> &
    Partial<Decision>,
): Omit<Decision, 'createdSequence'> {
  return {
    id,
    description: '',
    context: {},
    status: 'proposed',
    reviews: [],
    expiresAt: null,
    resolvedAt: null,
    createdAt: now,
    updatedAt: now,
    executionId: null,
    actionHash: null,
    executeWithin: null,
    grant: null,
    onBehalfOf: null,
    run: null,
    erased: false,
    ...given,
  };
}
