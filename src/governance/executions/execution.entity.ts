import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { type JsonObject, type JsonValue, ANY_JSON_SCHEMA } from '../../core/json/json-value';
import { AWAITS_RESUME, IS_EARLIER, IS_RECENT, IS_RESUMED } from './execution-conditions';
import { IS_UNKNOWN } from './unknown-outcome';
import { resourceKey } from '../policies/conditions/condition';
import { ApiProperty, PickType } from '@nestjs/swagger';
import {
  ApiChoice,
  ApiMember,
  ApiNullableText,
  ApiNullableTime,
  type ResponseMapper,
  responseMapper,
} from '../../http/openapi/response-members';
import { sampleId } from '../../http/openapi/documentation.decorators';
import type { OnBehalfOf } from '../policies/patterns/principals';
import type { RecordedUse } from '../policies/limits/limit';
import type { DecidingPolicy } from '../policies/evaluation/evaluation';
import { Policy } from '../policies/policy.entity';
import { AGENT } from '../agents/agent.entity';
import type { RecordKind } from '../../ledger/kinds/record-kind';
import type { EntryNote } from '../../ledger/commands/ledger-transaction';
import type { SqlValue } from '../../ledger/database/sql-connection';

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

/** Alternative parameters that a reviewer would approve, and their grant; null if they need a request of their own. */
export interface InsteadApproved {
  readonly parameters: JsonObject;
  readonly grantId: string | null;
}

export class DecidingPolicyResponse extends PickType(Policy, ['id', 'name', 'version', 'effect'] as const) {
  static readonly from: ResponseMapper<DecidingPolicyResponse> = responseMapper(DecidingPolicyResponse);
}

const OUTCOMES =
  '`authorized`: allowed, and carried out by the caller, since no handler is registered. `executed`: a handler ran; `result` ' +
  'is what it returned. `failed`: it threw or took too long. `running`: it runs. `interrupted`: the service stopped meanwhile. ' +
  '`denied`: refused, for `reason`. `pending_approval`: waits for its decision. `approved`: may be resumed, once, until ' +
  '`approvedUntil`. `rejected`, `expired`, `cancelled`: how its approval ended.';

/** A stored execution: the action that an agent requested, and its outcome. */
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
@Index(['traceId', 'createdSequence'], { where: '"traceId" IS NOT NULL' })
@Index(['principal', 'createdSequence'], { where: '"principal" IS NOT NULL' })
@Index(['run', 'createdSequence'], { where: '"run" IS NOT NULL' })
@Index(['grantId', 'createdSequence'], { where: '"grantId" IS NOT NULL' })
@Index(['via', 'createdSequence'], { where: '"via" IS NOT NULL' })
@Index(['createdSequence'], { where: '"via" IS NOT NULL' })
@Index(['outcome', 'createdSequence'], { where: `"outcome" = 'authorized' AND "via" IS NOT NULL` })
@Index(['actionHash', 'completedAt'], { where: IS_UNKNOWN })
@Index(['run', 'agentId', 'action', 'resourceKey'], { where: IS_EARLIER })
@Index('IDX_executions_earlier_resource', ['run', 'agentId', 'resourceKey', 'action'], { where: IS_EARLIER })
@Index(['agentId', 'action', 'createdSequence'], { where: IS_RECENT })
@Index(['agentId', 'resourceKey', 'action', 'createdSequence'], { where: IS_RECENT })
@Index(['agentId', 'action', 'resumedSequence'], { where: IS_RESUMED })
@Index(['agentId', 'resourceKey', 'action', 'resumedSequence'], { where: IS_RESUMED })
@Index(['approvedUntil', 'id'], { where: AWAITS_RESUME })
@Index(['createdSequence'], { where: `"erased" = 'false'` })
export class Execution {
  @PrimaryColumn('text')
  @ApiProperty({ example: sampleId('exe') })
  readonly id!: string;

  @Index({ unique: true })
  @Column('bigint')
  readonly createdSequence!: number;

  @Column('text')
  @ApiProperty({ example: sampleId('agt') })
  readonly agentId!: string;

  @Column('text')
  @ApiProperty({ example: 'reminder-bot' })
  readonly agentName!: string;

  @Column('text')
  @ApiProperty({ example: 'send-reminder' })
  readonly action!: string;

  @Column('text')
  @ApiProperty({ example: 'document' })
  readonly resourceType!: string;

  @Column('text')
  @ApiProperty({ example: 'invoices/2026/0042' })
  readonly resourceId!: string;

  @Column('simple-json')
  @ApiProperty({ type: 'object', additionalProperties: true, example: { to: 'customer@example.com' } })
  readonly parameters!: JsonObject;

  @Column('text')
  @ApiChoice(['ExecutionOutcome', EXECUTION_OUTCOMES], 'authorized', OUTCOMES)
  readonly outcome!: ExecutionOutcome;

  @Column('text', { nullable: true })
  @ApiNullableText('For machines: why it was denied, or why it failed, as its report says.')
  readonly reason!: string | null;

  /**
   * Hex SHA-256 of the requested action, for which alone an approval is valid. Null for executions that precede
   * approvals.
   */
  @Column('text', { nullable: true })
  @ApiNullableText(
    'Hex SHA-256 of the RFC 8785 form of agentId, action, resourceType, resourceId, parameters and, if given, onBehalfOf.',
    '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
  )
  readonly actionHash!: string | null;

  @Column('text', { nullable: true })
  @ApiNullableTime('Until when an approval can be used.')
  readonly approvedUntil!: string | null;

  @Column('simple-json')
  @ApiMember('The policies that decided.', { type: [DecidingPolicyResponse], maxItems: 10 })
  readonly policies!: readonly DecidingPolicy[];

  @Column('text', { nullable: true })
  @ApiNullableText('The decision that settles a pending approval.')
  readonly decisionId!: string | null;

  @Column('simple-json', { nullable: true })
  @ApiProperty({ ...ANY_JSON_SCHEMA, example: null, description: 'What the handler returned: any JSON value.' })
  readonly result!: JsonValue;

  @Column('text', { nullable: true })
  @ApiNullableText('A sentence.')
  readonly failureReason!: string | null;

  @Column('text')
  @ApiProperty({ format: 'date-time', example: '2026-11-20T06:18:03.123Z' })
  readonly createdAt!: string;

  @Column('text', { nullable: true })
  @ApiNullableTime('Null while `pending_approval`, `approved`, `authorized` or `running`.')
  readonly completedAt!: string | null;

  /** Entity of the resource, found when the execution began, so that all its audit entries name the same one. */
  @Column('text', { nullable: true })
  readonly entityId!: string | null;

  /** True if it was authorised without a policy, because its agent was observed. */
  @Column('simple-json', { default: 'false' })
  readonly observed!: boolean;

  /** True if its contents were erased. */
  @Column('simple-json', { default: 'false' })
  readonly erased!: boolean;

  /** The grant by which it was authorised. */
  @Column('text', { nullable: true })
  readonly grantId!: string | null;

  /** Alternative that the rejecting reviewer would approve; null without one. */
  @Column('simple-json', { nullable: true })
  readonly instead!: InsteadApproved | null;

  /** The W3C trace of the request that created it; null if that named none. */
  @Column('text', { nullable: true })
  readonly traceId!: string | null;
  /** Principal for whom the agent acts; null if there is none. */
  @Column('simple-json', { nullable: true })
  readonly onBehalfOf!: OnBehalfOf | null;

  /** The subject of `onBehalfOf`, for lists. Not hashed. */
  @Column('text', { nullable: true })
  readonly principal!: string | null;

  /** The conversation or task of the agent, as its program names it. */
  @Column('text', { nullable: true })
  readonly run!: string | null;

  /** The upstream of the gateway through which it was requested or resumed last; null without a gateway. */
  @Column('text', { nullable: true })
  readonly via!: string | null;

  /** The resource as conditions on earlier executions compare it; null once erased. Not hashed. */
  @Column('text', { nullable: true })
  readonly resourceKey!: string | null;

  /** The process that runs the handler; empty if none does. Not hashed. */
  @Column('text', { default: '' })
  readonly runBy!: string;

  /** Sequence of the entry of its resume; null if it was not resumed. Not hashed. */
  @Column('bigint', { nullable: true })
  readonly resumedSequence!: number | null;
}

/** The record kind of executions. The hashed members are frozen. */
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
  laterMembers: {
    reason: null,
    actionHash: null,
    approvedUntil: null,
    observed: false,
    erased: false,
    traceId: null,
    ...{ onBehalfOf: null, run: null, via: null, grantId: null, instead: null },
  },
  counter: 'executions',
  visibility: { allWith: ['read', 'review'], agentColumn: 'agentId', presentFor: { scope: 'report', column: 'via' } },
  team: { column: 'agentId', of: AGENT },
  countedBy: ['agentId', 'action', 'outcome'],
  timeColumn: 'createdAt',
  fixed: [
    'agentId',
    'agentName',
    'action',
    'resourceType',
    'resourceId',
    'actionHash',
    'entityId',
    'principal',
    'run',
    'resourceKey',
    'traceId',
    'grantId',
  ],
  due: { timeColumn: 'approvedUntil', where: AWAITS_RESUME },
  decisive: { outcome: EXECUTION_OUTCOMES },
  entrySequences: { resumedSequence: 'execution.resumed' },
  unhashedAgree: ({ entityId, outcome, runBy, onBehalfOf, principal, ...row }, entry) =>
    (row['resourceKey'] ?? null) === resourceKeyOf(row) &&
    entityId === entry.entityId &&
    (outcome === 'running') === (runBy !== '') &&
    principal === subjectIn(onBehalfOf ?? null),
};

/** Returns the value that `resourceKey` must have in a stored row. */
function resourceKeyOf({ erased, resourceType, resourceId }: Readonly<Record<string, SqlValue>>): string | null {
  if (erased === 'true') return null;
  return resourceKey({ resourceType: String(resourceType), resourceId: String(resourceId) });
}

/** Returns the subject of a stored `onBehalfOf`, which may have any form in an altered row. */
function subjectIn(onBehalfOf: SqlValue): string | null {
  return onBehalfOf === null ? null : (JSON.parse(String(onBehalfOf)) as OnBehalfOf).subject;
}

type ExecutionSummary = Pick<
  Execution,
  'agentId' | 'entityId' | 'action' | 'resourceType' | 'resourceId' | 'policies' | 'decisionId'
>;

/**
 * Returns the note of every audit entry of an execution: who acted, on what, which policies decided, and which decision
 * it depends on.
 */
export function noteOf(execution: ExecutionSummary, action: string): EntryNote & { readonly details: JsonObject } {
  const { agentId, entityId, resourceType, resourceId, decisionId } = execution;
  const policies = execution.policies.map(({ id, name, version }) => ({ id, name, version }));
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

/** An agent whose review counted in a decision. */
export interface CountedAgent extends JsonObject {
  readonly agentId: string;
  readonly revision: number;
}

/** The actions of entries that take from limits. */
export const USING_ACTIONS = ['execution.authorized', 'execution.resumed'] as const;

/** Basis of a decision about an execution, from which anybody can repeat the decision. */
export interface DecisionBasis {
  /** Hashes of the policies in force, and of everything that they decide by. */
  readonly policySet: string;
  readonly rules: string;
  readonly agentRevision: number;
  /** Revision of the registered person on whose behalf the agent acts, if there is one. */
  readonly principalRevision?: number;
  /** Grant that allows it; absent without one. */
  readonly grantId?: string;
  /** Stop that covers it; absent without one. */
  readonly stopId?: string;
  /** System for which a permit was made; absent without one. */
  readonly audience?: string;
  /** True if no policy allows it, and it was authorised because the agent is observed. */
  readonly observed?: true;
  /** Uses taken from limits, and limits that kept policies from allowing it. */
  readonly used?: readonly RecordedUse[];
  readonly limited?: readonly RecordedUse[];
  /** The conditions on earlier executions of the run, with the execution that each found. */
  readonly earlier?: readonly RecordedEarlier[];
  /** The conditions on claims about an entity, with the claims that each examined. */
  readonly claims?: readonly RecordedClaims[];
  /** The execution with an unknown outcome whose action was requested again through a gateway. */
  readonly repeats?: string;
  /** The version of the IANA database, if a condition read the clock of a time zone. */
  readonly zones?: string;
}

interface RecordedClaims extends JsonObject {
  readonly policyId: string;
  /** Index of the condition. */
  readonly condition: number;
  readonly entityId: string;
  /** Ids of the claims; null if they are unknown, because the entity does not exist, or has too many. */
  readonly ids: readonly string[] | null;
}

interface RecordedEarlier extends JsonObject {
  readonly policyId: string;
  /** Index of the condition. */
  readonly condition: number;
  readonly executionId: string | null;
}

/**
 * Returns the note of an entry about a decision of policies, with its basis.
 * @param approvers agents whose approvals were examined
 */
export function decidedNote(
  execution: ExecutionSummary,
  action: string,
  basis: DecisionBasis,
  approvers: readonly CountedAgent[] = [],
): EntryNote {
  const note = noteOf(execution, action);
  return { ...note, details: { ...basis, ...note.details, ...(approvers.length > 0 && { approvers }) } };
}

const OUTCOME_ACTIONS = {
  approved: 'execution.approved',
  rejected: 'execution.rejected',
  expired: 'execution.expired',
  cancelled: 'execution.cancelled',
} as const;

/** An outcome that follows from an approval. */
type ApprovalOutcome = keyof typeof OUTCOME_ACTIONS;

/** Returns the note of an execution whose outcome changes because of its approval, named after the outcome. */
export function outcomeNote(execution: Execution, outcome: ApprovalOutcome, reason: string | null = null): EntryNote {
  return { ...noteOf(execution, OUTCOME_ACTIONS[outcome]), reason };
}
