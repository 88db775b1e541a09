import { Injectable } from '@nestjs/common';
import type { Request } from 'express';
import { Configuration } from '../../core/config/configuration';
import type { GrantInput } from '../policies/approval/approval-requirement';
import { callerRefused, type DomainError } from '../../core/errors/domain-error';
import type { AdmissionRule } from '../../http/request/routes';
import { type Caller, SYSTEM_CALLER } from '../../ledger/kinds/caller';
import { RecordReader } from '../../ledger/reading/record-reader';
import type { LedgerTransaction } from '../../ledger/commands/ledger-transaction';
import { type Agent, AGENT } from '../agents/agent.entity';
import type { CountedAgent } from '../executions/execution.entity';
import { type Decision, DECISION, type Review, type Verdict } from './decision.entity';
import type { ActivePolicies } from '../policies/active-policies';
import type { DecidingPolicy } from '../policies/evaluation/evaluation';
import { type PolicyAgent, subjectOf } from '../policies/patterns/subjects';
import { isAboutChange, isChangeReview, signedChange } from './changes/change';
import { DELEGATION } from '../delegations/delegation.entity';
import { decisionResource, type Delegators, placeOf } from './decision-rules';
import type { JsonObject } from '../../core/json/json-value';
import { challengeOf, keptSignature, type PasskeySignature, relyingParty } from '../passkeys/webauthn';
import { PASSKEY } from '../passkeys/passkey.entity';

/**
 * Requires a key or token bound to the reviewer for some reviews: a key that can act as any agent does not prove who
 * reviewed.
 */
@Injectable()
export class BoundReviewers implements AdmissionRule {
  constructor(
    private readonly configuration: Configuration,
    private readonly reader: RecordReader,
  ) {}

  async refusalOf(caller: Caller, { params, path }: Request<{ id?: string }>): Promise<DomainError | null> {
    if (caller.agentId !== null) return null;
    if (this.configuration.requireBoundReviewers) return callerRefused('reviewer_not_bound');
    if (params.id === undefined) return null;
    // Only determines the order of checks: the review checks again, under the ledger's lock.
    const decision = await this.reader.find(DECISION, params.id, SYSTEM_CALLER);
    return decision === undefined ? null : unboundRefusal(caller, decision, verdictOf(path));
  }
}

/**
 * Refuses a review of an agent's request without the reviewer's own key. The operator's key is exempt, except for
 * changes, which it may only reject.
 */
export function unboundRefusal(caller: Caller, decision: Decision, verdict: Verdict): DomainError | null {
  const { executionId } = decision;
  const isUnproven = caller.agentId === null || caller.actor.type === 'slack';
  if (isUnproven && isAboutChange(decision) && (verdict === 'approve' || isChangeReview(decision)))
    return callerRefused('reviewer_not_bound');
  return executionId !== null && caller.agentId === null && !isOperator(caller)
    ? callerRefused('reviewer_not_bound')
    : null;
}

function verdictOf(path: string): Verdict {
  return /\/reject\/*$/.test(path) ? 'reject' : 'approve';
}

function isOperator({ actor }: Caller): boolean {
  return actor.type === 'api_key' && actor.id === 'env';
}

/**
 * Returns the policies in force that deny an agent this verdict, oldest first. Reviewers need no policy that allows
 * them.
 */
export function denyingReview(
  policies: ActivePolicies,
  decision: Pick<Decision, 'riskLevel' | 'type'>,
  verdict: Verdict,
  agent: PolicyAgent,
): readonly DecidingPolicy[] {
  const { effect, policies: deciding } = policies.inForce.evaluate({
    subject: subjectOf(agent),
    action: `decision:${verdict}`,
    resourceType: 'decision',
    resourceId: decisionResource(decision),
    // Policies with conditions, which would use these members, do not count.
    parameters: {},
    at: '',
    isReview: true,
  });
  return effect === 'deny' ? deciding : [];
}

/** A review, with the current state of the agent in whose place it was made. */
export interface CountedReview {
  readonly agent: Agent;
  /** Groups that it could approve for at the time. */
  readonly groups: readonly number[];
  readonly isSigned: boolean;
  /** True if another person gave it by a delegation. */
  readonly isDelegated: boolean;
}

/** Returns the reviews by agents. */
export async function countedReviews(
  records: Pick<LedgerTransaction, 'find'>,
  reviews: readonly Review[],
): Promise<CountedReview[]> {
  const counted: CountedReview[] = [];
  const delegators = await delegatorsOf(records, reviews);
  for (const review of reviews) {
    const id = placeOf(review, delegators);
    const agent = id === null ? undefined : await records.find(AGENT, id);
    const { groups = [], signature, delegationId } = review;
    const [isSigned, isDelegated] = [signature !== undefined, delegationId !== undefined];
    if (agent !== undefined) counted.push({ agent, groups, isSigned, isDelegated });
  }
  return counted;
}

/** False for a suspended agent, and for a delegated approval if a policy now denies that person to approve. */
export function doesCountNow(
  policies: ActivePolicies,
  decision: Decision,
  { agent, isDelegated }: CountedReview,
): boolean {
  if (agent.status !== 'active') return false;
  return !isDelegated || denyingReview(policies, decision, 'approve', agent).length === 0;
}

/** Maps delegations of reviews to the people in whose place they were made. */
export async function delegatorsOf(
  records: Pick<LedgerTransaction, 'find'>,
  reviews: readonly Review[],
): Promise<Delegators> {
  const delegators = new Map<string, string>();
  for (const { delegationId } of reviews) {
    const delegation = delegationId === undefined ? undefined : await records.find(DELEGATION, delegationId);
    if (delegation !== undefined) delegators.set(delegation.id, delegation.agentId);
  }
  return delegators;
}

/** Returns the agents in the form that entries name them. */
export function countedAgents(reviews: readonly CountedReview[]): CountedAgent[] {
  return reviews.map(({ agent: { id: agentId, revision } }) => ({ agentId, revision }));
}

/** The content of an approval that the reviewer's device signs. */
interface SignedApproval {
  readonly decision: Decision;
  readonly approverId: string;
  readonly grant: GrantInput | null;
  /** Undefined if the reviewer reviews in their own place. */
  readonly delegationId: string | undefined;
}

/**
 * Verifies an assertion; null unless a current passkey of the approver made it for exactly this approval.
 * @throws CONFLICT if no passkey can be used
 */
export async function keptApproval(
  transaction: LedgerTransaction,
  assertion: JsonObject,
  { decision, approverId: agentId, grant, delegationId }: SignedApproval,
  publicUrl: string | null,
): Promise<PasskeySignature | null> {
  const { id: decisionId, executionId, actionHash, title, description, context, riskLevel, change } = decision;
  const verdict = 'approve';
  // For an execution, the hash of the action identifies the approved content; any other decision is identified by its
  // own content.
  const content: JsonObject =
    executionId === null
      ? {
          agentId,
          context,
          decisionId,
          description,
          riskLevel,
          title,
          verdict,
          ...(change !== null && { change: signedChange(change) }),
        }
      : { actionHash, agentId, decisionId, ...(grant !== null && { grant: { ...grant } }), verdict };
  const signed = { ...content, ...(delegationId !== undefined && { delegationId }) };
  const held = await transaction.findAll(PASSKEY, { agentId });
  return keptSignature(assertion, held, relyingParty(publicUrl), challengeOf(signed));
}
