import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import {
  ApiCount,
  ApiMember,
  ApiNullableText,
  type ResponseMapper,
  responseMapper,
} from '../../http/openapi/response-members';
import { sampleId } from '../../http/openapi/documentation.decorators';
import { RISK_LEVELS, type RiskLevel } from '../../core/config/variables/governance-variables';
import { addDuration } from '../../core/values/duration';
import type { SqlValue } from '../../ledger/database/sql-connection';
import type { ApproverGroup, GrantInput, GrantAllowance } from '../policies/approval/approval-requirement';
import { shortGroups } from '../policies/approval/approver-groups';
import type { OnBehalfOf } from '../policies/patterns/principals';
import type { JsonObject } from '../../core/json/json-value';
import type { PasskeySignature } from '../passkeys/webauthn';
import { AGENT } from '../agents/agent.entity';
import type { Change, ChangeActor } from './change-content';
import type { RecordKind, StoredColumns } from '../../ledger/kinds/record-kind';
import type { EntryNote } from '../../ledger/commands/ledger-transaction';

export const DECISION_STATUSES = ['proposed', 'approved', 'rejected', 'expired', 'cancelled'] as const;
export type DecisionStatus = (typeof DECISION_STATUSES)[number];

export const VERDICTS = ['approve', 'reject'] as const;
export type Verdict = (typeof VERDICTS)[number];

/** One reviewer's verdict. `approverId` is null if the holder of the API key rejected. */
export interface Review {
  readonly approverId: string | null;
  readonly verdict: Verdict;
  readonly comment: string | null;
  readonly createdAt: string;
  /**
   * Indexes of the approver groups that the reviewer could approve for at the time, signed ones only with a signature;
   * absent if the decision names none.
   */
  readonly groups?: readonly number[];
  /** The grant that the reviewer gave with an approval; absent if there was none. */
  readonly grant?: GrantInput;
  /** The signature that a passkey of the reviewer made for exactly this approval; absent without one. */
  readonly signature?: PasskeySignature;
  /** The delegation by which the reviewer reviewed in the place of another person; absent without one. */
  readonly delegationId?: string;
}

/** A grant as a reviewer gave it. */
class GivenGrantResponse {
  @ApiMember('An ISO 8601 duration.', { example: 'PT1H' })
  readonly for!: string;

  @ApiMember('Null: as many as are allowed.', { type: 'integer', nullable: true, example: 10 })
  readonly uses!: number | null;

  @ApiMember('Null: exactly the requested resource.', { type: [String], nullable: true, example: null })
  readonly resources!: readonly string[] | null;

  @ApiProperty({ enum: ['same', 'any'], enumName: 'GrantParameters', example: 'same' })
  readonly parameters!: 'same' | 'any';
}

/** Parts of a passkey's signature, as base64url. */
class SignatureResponse {
  @ApiProperty({ example: sampleId('psk') })
  readonly passkeyId!: string;

  @ApiProperty({ example: 'SZYN' })
  readonly authenticatorData!: string;

  @ApiProperty({ example: 'eyJ0' })
  readonly clientDataJSON!: string;

  @ApiProperty({ example: 'MEUC' })
  readonly signature!: string;
}

export class ReviewResponse {
  @ApiNullableText('Null when the holder of the API key rejected.', sampleId('agt', 2))
  readonly approverId!: string | null;

  @ApiProperty({ enum: VERDICTS, enumName: 'ReviewVerdict', example: 'approve' })
  readonly verdict!: Verdict;

  @ApiProperty({ type: String, nullable: true, example: 'Checked against the change calendar.' })
  readonly comment!: string | null;

  @ApiProperty({ format: 'date-time', example: '2026-11-20T06:21:40.002Z' })
  readonly createdAt!: string;

  @ApiMember(
    'Indexes of the groups of `approvers` that the reviewer could approve for, signed ones only with a signature; null without ' +
      '`approvers`.',
    { type: [Number], nullable: true, example: null },
  )
  readonly groups!: readonly number[] | null;

  @ApiPropertyOptional({
    type: GivenGrantResponse,
    description: 'What the reviewer granted besides this action; absent if nothing.',
  })
  readonly grant?: GivenGrantResponse;

  @ApiPropertyOptional({
    type: SignatureResponse,
    description: 'The signature that a passkey of the reviewer made for exactly this approval; absent without one.',
  })
  readonly signature?: SignatureResponse;

  @ApiPropertyOptional({
    example: sampleId('dlg'),
    description: 'The delegation by which it was given in the place of another person; absent if there was none.',
  })
  readonly delegationId?: string;

  static from(this: void, review: Review): ReviewResponse {
    return shownReview({ groups: null, ...review });
  }
}

const shownReview: ResponseMapper<ReviewResponse> = responseMapper(ReviewResponse);

class DecisionEscalationResponse {
  @ApiMember('An ISO 8601 duration: so long after the proposal.', { example: 'PT4H' })
  readonly after!: string;

  @ApiProperty({ type: [String], example: ['role:management'] })
  readonly subjects!: readonly string[];

  @ApiMember('When it took effect; absent until then.', { format: 'date-time', required: false })
  readonly at?: string;
}

export class DecisionApproversResponse {
  @ApiProperty({ type: [String], example: ['role:finance'] })
  readonly subjects!: readonly string[];

  @ApiMember('By different reviewers.', { type: 'integer', minimum: 1, maximum: 100, example: 1 })
  readonly approvals!: number;

  @ApiCount('Approvals so far that may count for the group.', { example: 0 })
  readonly given!: number;

  @ApiPropertyOptional({ example: true, description: 'Only reviews signed with a passkey count; absent: any review.' })
  readonly signed?: true;

  @ApiPropertyOptional({
    type: DecisionEscalationResponse,
    description: 'Who may fill the group as well, if it is not filled in time; absent: nobody.',
  })
  readonly escalate?: DecisionEscalationResponse;
}

/** The condition of the index of decisions that can expire. */
export const CAN_EXPIRE = `"resolvedAt" IS NULL AND "expiresAt" IS NOT NULL`;

/** Column of the time at which decisions escalate, and condition of the index of those that will. */
export const ESCALATION_DUE = { timeColumn: 'escalatesAt', where: `"escalatesAt" IS NOT NULL` } as const;

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
@Index(['escalatesAt', 'id'], { where: ESCALATION_DUE.where })
export class Decision {
  @PrimaryColumn('text')
  @ApiProperty({ example: sampleId('dec') })
  readonly id!: string;

  @Index({ unique: true })
  @Column('bigint')
  readonly createdSequence!: number;

  @Column('text')
  @ApiProperty({ example: 'deployment' })
  readonly type!: string;

  @Column('text')
  @ApiProperty({ example: 'Deploy release 4.2 of the payment gateway' })
  readonly title!: string;

  @Column('text')
  @ApiProperty({ example: 'Rolls out the new fraud checks.' })
  readonly description!: string;

  @Column('simple-json')
  @ApiProperty({ type: 'object', additionalProperties: true, example: { change: 'CHG-1042' } })
  readonly context!: JsonObject;

  @Column('text', { nullable: true })
  @ApiNullableText('Null if a change was proposed with a key that is bound to nobody.', sampleId('agt'))
  readonly proposedBy!: string | null;

  @Column('text')
  @ApiProperty({ enum: RISK_LEVELS, enumName: 'RiskLevel', example: 'high' })
  readonly riskLevel!: RiskLevel;

  @Column('text')
  @ApiProperty({ enum: DECISION_STATUSES, enumName: 'DecisionStatus', example: 'proposed' })
  readonly status!: DecisionStatus;

  @Column('integer')
  @ApiCount('Fixed when the decision was proposed.', { minimum: 1 })
  readonly requiredApprovals!: number;

  @Column('simple-json')
  @ApiProperty({ type: [ReviewResponse] })
  readonly reviews!: readonly Review[];

  @Column('text', { nullable: true })
  @ApiProperty({ type: String, format: 'date-time', nullable: true, example: null })
  readonly expiresAt!: string | null;

  @Column('text')
  @ApiProperty({ format: 'date-time', example: '2026-11-20T06:18:03.123Z' })
  readonly createdAt!: string;

  @Column('text')
  @ApiProperty({ format: 'date-time', example: '2026-11-20T06:18:03.123Z' })
  readonly updatedAt!: string;

  /** Time at which it was approved, rejected, cancelled, or expired. */
  @Column('text', { nullable: true })
  @ApiProperty({ type: String, format: 'date-time', nullable: true, example: null })
  readonly resolvedAt!: string | null;

  @Column('text', { nullable: true })
  @ApiNullableText('The execution that waits for it.')
  readonly executionId!: string | null;

  @Column('text', { nullable: true })
  @ApiNullableText('Hex SHA-256 of what the execution requests, as in the execution.')
  readonly actionHash!: string | null;

  @Column('simple-json', { nullable: true })
  @ApiMember(
    'Who has to approve: every group, each by different reviewers. Null: any active agent, `requiredApprovals` of them.',
    { type: [DecisionApproversResponse], nullable: true, example: null },
  )
  readonly approvers!: readonly ApproverGroup[] | null;

  @Column('text', { nullable: true })
  @ApiNullableText(
    'How long the execution may be started, or the change made, once it is approved: an ISO 8601 duration.',
  )
  readonly executeWithin!: string | null;

  /** The most that its approvers may give at once; null if an approval is only for this action. */
  @Column('simple-json', { nullable: true })
  readonly grant!: GrantAllowance | null;

  /** Principal of its execution, repeated for lists. Not hashed, like `run`. */
  @Column('simple-json', { nullable: true })
  readonly onBehalfOf!: OnBehalfOf | null;

  @Column('text', { nullable: true })
  readonly run!: string | null;

  /** True if its contents were erased. */
  @Column('simple-json', { default: 'false' })
  readonly erased!: boolean;

  /** The W3C trace of the request that proposed it; null if it named none. */
  @Column('text', { nullable: true })
  readonly traceId!: string | null;

  /** The request that changes the rules; null for any other decision. */
  @Column('simple-json', { nullable: true })
  readonly change!: Change | null;

  /** The caller who proposed the change. */
  @Column('simple-json', { nullable: true })
  readonly actor!: ChangeActor | null;

  /** Time of the next escalation unless the group is filled by then; null if there is none. Not hashed. */
  @Column('text', { nullable: true })
  readonly escalatesAt!: string | null;
}

/** The record kind of decisions. The hashed members are frozen. */
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
    change: null,
    actor: null,
  },
  repeats: { table: 'executions', by: 'executionId', columns: ['onBehalfOf', 'run'] },
  counter: 'decisions',
  due: { timeColumn: 'expiresAt', where: CAN_EXPIRE },
  visibility: { allWith: ['read', 'review'], agentColumn: 'proposedBy' },
  team: { column: 'proposedBy', of: AGENT },
  countedBy: ['status', 'riskLevel', 'type', 'proposedBy'],
  decisive: { status: DECISION_STATUSES, riskLevel: RISK_LEVELS },
  unhashedAgree: (stored) => stored['escalatesAt'] === escalationTime(escalationParts(stored)),
};

type EscalationParts = Pick<Decision, 'approvers' | 'reviews' | 'status' | 'createdAt' | 'expiresAt'>;

function escalationParts({ approvers, reviews, status, createdAt, expiresAt }: StoredColumns): EscalationParts {
  const parse = (text: SqlValue): unknown => (typeof text === 'string' ? JSON.parse(text) : null);
  return {
    approvers: parse(approvers ?? null),
    reviews: parse(reviews ?? null),
    status,
    createdAt,
    expiresAt,
  } as EscalationParts;
}

/** Time of the next escalation of an unfilled group before the decision expires; null if there is none. */
export function escalationTime({ approvers, reviews, status, createdAt, expiresAt }: EscalationParts): string | null {
  if (status !== 'proposed' || approvers?.some(({ escalate }) => escalate !== undefined) !== true) return null;
  const approvals = reviews.flatMap(({ verdict, groups = [] }) => (verdict === 'approve' ? [groups] : []));
  const times = shortGroups(approvers, approvals).flatMap((index) => {
    const escalate = approvers[index]?.escalate;
    return escalate === undefined || escalate.at !== undefined ? [] : [addDuration(escalate.after, createdAt)];
  });
  const [next = null] = times.sort();
  return next !== null && expiresAt !== null && next >= expiresAt ? null : next;
}

export function proposedNote(decision: Omit<Decision, 'createdSequence'>): EntryNote {
  const { proposedBy: agentId, riskLevel, requiredApprovals } = decision;
  return { action: 'decision.proposed', agentId, details: { riskLevel, requiredApprovals } };
}

/** The decision with the time that follows from its other members. */
export function withEscalationTime<Row extends EscalationParts>(decision: Row): Row & Pick<Decision, 'escalatesAt'> {
  return { ...decision, escalatesAt: escalationTime(decision) };
}

/** A decision without reviews. The defaults are those of a decision for which no execution waits. */
export function proposedDecision(
  id: string,
  now: string,
  content: Pick<
    Decision,
    'type' | 'title' | 'proposedBy' | 'riskLevel' | 'requiredApprovals' | 'approvers' | 'traceId'
  > &
    Partial<Decision>,
): Omit<Decision, 'createdSequence'> {
  return withEscalationTime({
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
    change: null,
    actor: null,
    ...content,
  });
}
