import { Injectable } from '@nestjs/common';
import { referencedAgent, suspension } from '../agents/agent-reference';
import type { Agent } from '../agents/agent.entity';
import { AGENT } from '../agents/agent.kind';
import { Configuration } from '../config/configuration';
import { conflict, notFound, policyDenied, type DomainError } from '../errors/domain-error';
import type { Caller } from '../ledger/caller';
import { Refusal, type LedgerTransaction } from '../ledger/ledger-transaction';
import { LedgerService } from '../ledger/ledger.service';
import { byId } from '../ledger/lookup';
import { RecordReader } from '../ledger/record-reader';
import type { DecidingPolicy } from '../policies/evaluation/evaluation-request';
import { PolicyBook } from '../policies/policy-book';
import { subjectOf } from '../policies/subject-of';
import { deniedReviewNote, expiredNote, reviewNote } from './decision-notes';
import {
  decisionResource,
  expired,
  isExpired,
  proposerSuspension,
  reviewConflict,
  reviewed,
  selfApproval,
} from './decision-rules';
import type { Decision, Verdict } from './decision.entity';
import { DECISION } from './decision.kind';

export interface ReviewRequest {
  readonly verdict: Verdict;
  /** Null: the holder of the API key rejects. */
  readonly approverId: string | null;
  readonly comment: string | null;
}

interface Parties {
  readonly approver: Agent;
  readonly proposer: Agent | undefined;
}

interface Denial {
  readonly error: DomainError;
  readonly policies: readonly DecidingPolicy[];
}

/** Approves and rejects. Of two reviews that race for the same decision, the ledger's order decides. */
@Injectable()
export class DecisionReviewsService {
  constructor(
    private readonly ledger: LedgerService,
    private readonly reader: RecordReader,
    private readonly policies: PolicyBook,
    private readonly configuration: Configuration,
  ) {}

  /**
   * @throws NOT_FOUND; VALIDATION_ERROR for an unknown approver; CONFLICT for a settled decision or a second review;
   * PERMISSION_DENIED and POLICY_DENIED, with the refusal recorded.
   */
  async review(caller: Caller, decisionId: string, request: ReviewRequest): Promise<Decision> {
    const { approverId } = request;
    // Who proposed a decision never changes, so it may be read ahead.
    const proposerId = (await this.reader.find(DECISION, decisionId))?.proposedBy ?? null;
    const agents = [approverId, proposerId].flatMap((id) => (id === null ? [] : [byId(AGENT, id)]));
    return this.ledger
      .expecting(byId(DECISION, decisionId), ...agents)
      .write(caller, (transaction) => this.settle(transaction, decisionId, request));
  }

  private async settle(
    transaction: LedgerTransaction,
    decisionId: string,
    request: ReviewRequest,
  ): Promise<Decision | Refusal> {
    const { approverId, verdict, comment } = request;
    const decision = await transaction.find(DECISION, decisionId);
    if (decision === undefined) throw notFound('decision');
    const approver = approverId === null ? null : await referencedAgent(transaction, 'approverId', approverId);
    if (isExpired(decision, transaction.now)) return settleExpiry(transaction, decision);
    const obstacle = reviewConflict(decision, approverId);
    if (obstacle !== null) throw obstacle;
    const proposer = await transaction.find(AGENT, decision.proposedBy);
    const denial = approver === null ? null : this.denialOf(decision, verdict, { approver, proposer });
    if (denial !== null) return recordDenial(transaction, decision, request, denial);
    const review = { approverId, verdict, comment, createdAt: transaction.now };
    const after = reviewed(decision, review);
    return transaction.update(DECISION, after, reviewNote(after, review));
  }

  private denialOf(decision: Decision, verdict: Verdict, { approver, proposer }: Parties): Denial | null {
    const error =
      (this.configuration.allowSelfApproval ? null : selfApproval(decision, verdict, approver.id)) ??
      suspension(approver) ??
      proposerSuspension(verdict, proposer);
    return error === null ? this.policyDenial(decision, verdict, approver) : { error, policies: [] };
  }

  /** Approvers need no policy that allows them; one that denies stops them. */
  private policyDenial(decision: Decision, verdict: Verdict, approver: Agent): Denial | null {
    const { effect, policies } = this.policies.evaluate({
      subject: subjectOf(approver),
      action: `decision:${verdict}`,
      resourceType: 'decision',
      resourceId: decisionResource(decision),
    });
    const [first] = policies;
    if (effect !== 'deny' || first === undefined) return null;
    const { id, name, version } = first;
    const message = `The policy "${name}" (version ${version}) forbids the agent "${approver.name}" to ${verdict} this decision.`;
    return { error: policyDenied({ id, name, version }, message), policies };
  }
}

/** A review that comes too late brings the expiry to light: it is recorded, and the review is refused. */
function settleExpiry(transaction: LedgerTransaction, decision: Decision): Refusal {
  transaction.update(DECISION, expired(decision, transaction.now), expiredNote(decision));
  return new Refusal(conflict('The decision expired before this review, which is final.'));
}

function recordDenial(
  transaction: LedgerTransaction,
  decision: Decision,
  { verdict, approverId }: ReviewRequest,
  { error, policies }: Denial,
): Refusal {
  transaction.record(DECISION, decision, deniedReviewNote(verdict, approverId, error.extras.reason ?? null, policies));
  return new Refusal(error);
}
