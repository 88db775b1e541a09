import { Injectable } from '@nestjs/common';
import { requireActingAgent, agentLookup, suspension } from '../agents/find-agent';
import { type Agent, AGENT } from '../agents/agent.entity';
import { Configuration } from '../../core/config/configuration';
import {
  conflict,
  type DomainError,
  requireFound,
  permissionDenied,
  policyDenied,
} from '../../core/errors/domain-error';
import { type Caller, SYSTEM_CALLER } from '../../ledger/caller';
import { type LedgerTransaction, Refusal } from '../../ledger/ledger-transaction';
import { LedgerService, type LedgerWriter } from '../../ledger/ledger.service';
import { byId } from '../../ledger/lookup';
import { fillableBy, groupsOf } from '../policies/approval/approver-groups';
import { denyingReview, keptApproval, unboundRefusal } from './reviewers';
import { ActivePolicies } from '../policies/active-policies';
import { relyingParty, loadProtocol } from '../passkeys/webauthn';
import { expireDecision, settleDecision } from './decision-settlement';
import { RecordReader } from '../../ledger/reading/record-reader';
import type { DecidingPolicy } from '../policies/evaluation/evaluation';
import { DECISION, type Decision, type Review, type Verdict } from './decision.entity';
import type { JsonObject } from '../../core/json/json-value';
import { type Instead, mintGiven, requiredExecution, requireOther, settleWithInstead } from './grants/grant-changes';
import { requireGrantable } from './grants/grant-rules';
import {
  approvalsOf,
  approverFault,
  isExpired,
  proposerSuspension,
  reviewConflict,
  withReview,
  selfApproval,
} from './decision-rules';
import type { SeenDecisionRequest } from './dto/decision.requests';
import type { GivenGrant } from '../policies/approval/approval-requirement';

export interface ReviewRequest {
  readonly verdict: Verdict;
  /** Id or name of an agent. Null: the holder of the API key rejects. */
  readonly approver: string | null;
  readonly comment: string | null;
  /** The grant that an approval gives, if any. */
  readonly grant?: GivenGrant | undefined;
  /** An AuthenticationResponseJSON, by which a passkey of the approver signs the approval. */
  readonly signature?: JsonObject | undefined;
  /** The parameters that a rejection names in place of those asked for. */
  readonly instead?: JsonObject | undefined;
}

/** A review that has passed every check, not yet written. */
interface AdmittedReview {
  readonly decision: Decision;
  readonly review: Review;
  readonly approver: Agent | null;
  /** What the reviewer who rejects would approve. */
  readonly instead: Instead | null;
}

interface Parties {
  readonly approver: Agent;
  readonly proposer: Agent | undefined;
  /** The groups that the approver belongs to; null if the decision names none. */
  readonly groups: readonly number[] | null;
  readonly isSigned: boolean;
  /** Whether others are approved by the same request, which one signature could not cover. */
  readonly isTogether: boolean;
}

interface Denial {
  readonly error: DomainError;
  readonly policies: readonly DecidingPolicy[];
}

/** Approves and rejects. If two reviews race for the same decision, the ledger's order decides. */
@Injectable()
export class DecisionReviewsService {
  constructor(
    private readonly ledger: LedgerService,
    private readonly reader: RecordReader,
    private readonly policies: ActivePolicies,
    private readonly configuration: Configuration,
  ) {}

  /**
   * @throws NOT_FOUND; VALIDATION_ERROR for an unknown approver; CONFLICT for a settled decision or a second review;
   * PERMISSION_DENIED and POLICY_DENIED, with the refusal recorded.
   */
  async review(caller: Caller, decisionId: string, request: ReviewRequest): Promise<Decision> {
    // Loading takes a while, and a command must not take long.
    if (request.signature !== undefined) loadProtocol();
    const write = await this.prefetching([decisionId], request.approver);
    return write.write(caller, async (transaction) => {
      const decision = requireFound(await transaction.findVisible(DECISION, decisionId), 'decision');
      const admitted = await this.checkReview(transaction, decision, request);
      return admitted instanceof Refusal ? admitted : this.settle(transaction, admitted);
    });
  }

  /**
   * Makes all reviews in one commit, or none. The first that `review` would refuse is the answer, and only that refusal
   * is recorded.
   * @throws as `review`; CONFLICT for a decision whose action is not the one that the reviewer saw.
   */
  async approveTogether(
    caller: Caller,
    decisions: readonly SeenDecisionRequest[],
    request: Pick<ReviewRequest, 'approver' | 'comment'>,
  ): Promise<Decision[]> {
    const write = await this.prefetching(
      decisions.map(({ id }) => id),
      request.approver,
    );
    return write.write(caller, async (transaction) => {
      const reviews: AdmittedReview[] = [];
      for (const { id, actionHash } of decisions) {
        const decision = requireFound(await transaction.findVisible(DECISION, id), `decision ${id}`);
        if (decision.actionHash !== actionHash)
          throw conflict(`The decision ${id} is about another action than the one you saw.`);
        const admitted = await this.checkReview(transaction, decision, { ...request, verdict: 'approve' }, true);
        if (admitted instanceof Refusal) return admitted;
        reviews.push(admitted);
      }
      const settled: Decision[] = [];
      for (const review of reviews) settled.push(await this.settle(transaction, review));
      return settled;
    });
  }

  private async prefetching(decisionIds: readonly string[], approver: string | null): Promise<LedgerWriter> {
    // The proposer of a decision never changes, so it may be read beforehand.
    const decisions = await Promise.all(decisionIds.map((id) => this.reader.find(DECISION, id, SYSTEM_CALLER)));
    const proposers = new Set(decisions.flatMap((decision) => (decision === undefined ? [] : [decision.proposedBy])));
    const agents = [...(approver === null ? [] : [approver]), ...proposers].map(agentLookup);
    return this.ledger.withLookups(...decisionIds.map((id) => byId(DECISION, id)), ...agents);
  }

  /** Writes nothing but a refusal. */
  private async checkReview(
    transaction: LedgerTransaction,
    decision: Decision,
    request: ReviewRequest,
    isTogether = false,
  ): Promise<AdmittedReview | Refusal> {
    const { verdict, comment, grant = null, instead = null, signature: assertion = null } = request;
    const { publicUrl } = this.configuration;
    const unbound = unboundRefusal(transaction.caller, decision);
    if (unbound !== null) throw unbound;
    const approver =
      request.approver === null ? null : await requireActingAgent(transaction, 'approverId', request.approver);
    const approverId = approver?.id ?? null;
    if (isExpired(decision, transaction.now)) {
      // The expiry is recorded, and the review is refused.
      await expireDecision(transaction, decision);
      return new Refusal(conflict('The decision expired before this review; that is final.'));
    }
    if (grant !== null) {
      const { executionId, erased } = decision;
      const asked = executionId === null || erased ? null : await requiredExecution(transaction, executionId);
      requireGrantable(grant, decision, asked);
    }
    if (instead !== null) await requireOther(transaction, instead, decision, approverId);
    const obstacle = reviewConflict(decision, approverId);
    if (obstacle !== null) throw obstacle;
    if (assertion !== null) relyingParty(publicUrl);
    const proposer = await transaction.find(AGENT, decision.proposedBy);
    const groups = decision.approvers === null ? null : groupsOf(approver, decision.approvers);
    const isSigned = assertion !== null;
    const parties = approver === null ? null : { approver, proposer, groups, isSigned, isTogether };
    const denial = parties === null ? null : this.denialOf(decision, verdict, parties);
    if (denial !== null) return recordDenial(transaction, decision, { verdict, approverId }, denial);
    const signature =
      assertion === null || approverId === null
        ? null
        : await keptApproval(transaction, assertion, { decision, approverId, grant }, publicUrl);
    if (isSigned && signature === null) {
      const message =
        'The signature was not made by a passkey that the reviewer has, for exactly this approval and for this service.';
      const error = permissionDenied('signature_invalid', message);
      return recordDenial(transaction, decision, { verdict, approverId }, { error, policies: [] });
    }
    const filled =
      groups !== null && verdict === 'approve' ? fillableBy(isSigned, groups, decision.approvers ?? []) : groups;
    const given = {
      ...(filled !== null && { groups: filled }),
      ...(grant !== null && { grant }),
      ...(signature !== null && { signature }),
    };
    const review = { approverId, verdict, comment, createdAt: transaction.now, ...given };
    if (instead === null || parties === null) return { decision, review, approver, instead: null };
    const couldApprove = this.denialOf(decision, 'approve', parties) === null;
    return { decision, review, approver, instead: { parameters: instead, couldApprove } };
  }

  private async settle(
    transaction: LedgerTransaction,
    { decision, review, approver, instead }: AdmittedReview,
  ): Promise<Decision> {
    const after = withReview(decision, review);
    const { requiredApprovals, reviews } = after;
    const { verdict, approverId } = review;
    const basis = { rules: this.policies.rules, approverRevision: approver?.revision ?? null };
    const details = { verdict, approvals: approvalsOf(reviews), requiredApprovals, ...basis };
    const note = { action: actionOf(after), agentId: approverId, details };
    const forExecution = approver === null ? {} : { reviewerId: approver.id };
    if (instead !== null) return settleWithInstead(transaction, after, { note, forExecution, instead });
    const settled = await settleDecision(transaction, after, note, forExecution);
    if (after.status === 'approved') await mintGiven(transaction, after);
    return settled;
  }

  private denialOf(decision: Decision, verdict: Verdict, parties: Parties): Denial | null {
    const { approver, proposer, groups } = parties;
    const error =
      selfApproval(decision, verdict, approver.id, this.configuration.allowSelfApproval) ??
      suspension(approver) ??
      proposerSuspension(verdict, proposer) ??
      approverFault(decision, verdict, approver, groups);
    if (error !== null) return { error, policies: [] };
    const policies = denyingReview(this.policies, decision, verdict, approver);
    const [first] = policies;
    if (first !== undefined) {
      const { id, name, version } = first;
      const message = `The policy "${name}" (version ${version}) forbids the agent "${approver.name}" to ${verdict} this decision.`;
      return { error: policyDenied({ id, name, version }, message), policies };
    }
    if (verdict === 'reject' || !lacksSignature(decision, parties)) return null;
    const message =
      'This approval has to be signed with a passkey of the reviewer: approve it in the console, one at a time.';
    return { error: permissionDenied('signature_required', message), policies };
  }
}

/** Whether an unsigned approval would count for no group, or, given together with others, for fewer groups than a signed one. */
function lacksSignature({ approvers }: Decision, { groups, isSigned, isTogether }: Parties): boolean {
  if (isSigned || groups === null || approvers === null) return false;
  const unsigned = fillableBy(false, groups, approvers).length;
  return isTogether ? unsigned < groups.length : unsigned === 0;
}

/** The entry of a review is named after its effect. */
function actionOf({ status }: Decision): string {
  if (status === 'approved') return 'decision.approved';
  return status === 'rejected' ? 'decision.rejected' : 'decision.reviewed';
}

function recordDenial(
  transaction: LedgerTransaction,
  decision: Decision,
  { verdict, approverId }: Pick<Review, 'verdict' | 'approverId'>,
  { error, policies }: Denial,
): Refusal {
  const action = verdict === 'approve' ? 'decision.approval_denied' : 'decision.rejection_denied';
  const details = { verdict, policies: policies.map(({ id, name, version }) => ({ id, name, version })) };
  const reason = error.extras.reason ?? null;
  transaction.record(DECISION, decision, { action, agentId: approverId, outcome: 'denied', reason, details });
  return new Refusal(error);
}
