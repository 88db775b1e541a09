import { Injectable } from '@nestjs/common';
import { requireActingAgent, agentLookup, suspension } from '../agents/find-agent';
import { type Agent, AGENT } from '../agents/agent.entity';
import { Configuration } from '../../core/config/configuration';
import {
  conflict,
  type DomainError,
  invalidField,
  requireFound,
  requirePresent,
  permissionDenied,
  policyDenied,
} from '../../core/errors/domain-error';
import { type Caller, SYSTEM_CALLER } from '../../ledger/kinds/caller';
import { type LedgerTransaction, Refusal, type ServiceTransaction } from '../../ledger/commands/ledger-transaction';
import { LedgerService, type LedgerWriter } from '../../ledger/ledger.service';
import { byId } from '../../ledger/kinds/lookup';
import { fillableBy, groupsOf } from '../policies/approval/approver-groups';
import { settleDelegation } from '../delegations/delegation-changes';
import { DELEGATION } from '../delegations/delegation.entity';
import { delegatorsOf, denyingReview, keptApproval, unboundRefusal } from './reviewers';
import { ActivePolicies } from '../policies/active-policies';
import { loadProtocol, type PasskeySignature, relyingParty } from '../passkeys/webauthn';
import { escalateDecision, expireDecision, settleDecision } from './decision-settlement';
import { RecordReader } from '../../ledger/reading/record-reader';
import type { DecidingPolicy } from '../policies/evaluation/evaluation';
import { EXECUTION } from '../executions/execution.entity';
import { SecretRedaction } from '../secrets/secret-redaction';
import { DECISION, type Decision, type Review, type Verdict } from './decision.entity';
import { isAboutChange } from './changes/change';
import { unreviewedEmergencies } from './changes/emergencies';
import { API_KEY } from '../api-keys/api-key.entity';
import type { JsonObject } from '../../core/json/json-value';
import { jsonLength } from '../../core/json/json-length';
import { type Instead, mintGiven, requiredExecution, requireOther, settleWithInstead } from './grants/grant-changes';
import { requireGrantable } from './grants/grant-rules';
import {
  approvalsOf,
  approverFault,
  deciderFault,
  isExpired,
  proposerSuspension,
  reviewConflict,
  type ReviewedPlace,
  type ReviewSource,
  withReview,
  selfApproval,
  substituteFault,
} from './decision-rules';
import type { SeenDecisionRequest } from './dto/decision.requests';
import type { GrantInput } from '../policies/approval/approval-requirement';

/** Most characters of records that are approved together: each entry contains one. */
const MAX_TOGETHER = 4 * 1024 * 1024;

interface ReviewRequest {
  readonly verdict: Verdict;
  /** Id or name of an agent; null if the holder of the API key rejects. */
  readonly approver: string | null;
  readonly comment: string | null;
  /** The grant that an approval gives, if any. */
  readonly grant?: GrantInput | undefined;
  /** AuthenticationResponseJSON with which the approver's passkey signs the approval. */
  readonly signature?: JsonObject | undefined;
  /** The parameters that a rejection names in place of the requested ones. */
  readonly instead?: JsonObject | undefined;
  /** The delegation by which the approver reviews in the place of another person. */
  readonly delegationId?: string | undefined;
}

/** A review that has passed every check and is not written yet. */
interface AdmittedReview {
  readonly decision: Decision;
  readonly review: Review;
  readonly approver: Agent | null;
  /** Person in whose place the approver reviews by a delegation; null without one. */
  readonly delegator: Agent | null;
  /** Alternative that the rejecting reviewer would approve. */
  readonly instead: Instead | null;
}

interface Parties {
  /** Null if the holder of an API key rejects. */
  readonly approver: Agent | null;
  /** Person in whose place the approver reviews by a delegation; null without one. */
  readonly delegator: Agent | null;
  readonly proposer: Agent | undefined;
  /** The groups that the approver, or the delegator, belongs to; null if the decision names none. */
  readonly groups: readonly number[] | null;
  readonly isSigned: boolean;
  readonly source: ReviewSource;
  /** True if the same request approves other decisions, which one signature could not cover. */
  readonly isTogether: boolean;
}

interface Denial {
  readonly error: DomainError;
  readonly policies: readonly DecidingPolicy[];
}

/** Approves and rejects decisions. If two reviews race for the same decision, the ledger's order decides. */
@Injectable()
export class DecisionReviewsService {
  constructor(
    private readonly ledger: LedgerService,
    private readonly reader: RecordReader,
    private readonly policies: ActivePolicies,
    private readonly configuration: Configuration,
    private readonly secrets: SecretRedaction,
  ) {}

  /**
   * @throws NOT_FOUND; VALIDATION_ERROR for an unknown approver; CONFLICT for a settled decision or a second review;
   * PERMISSION_DENIED and POLICY_DENIED, with the refusal recorded.
   */
  async review(caller: Caller, decisionId: string, sent: ReviewRequest): Promise<Decision> {
    const instead = await this.redactedInstead(caller, decisionId, sent.instead);
    const request = { ...sent, instead };
    // Loading the protocol takes a while, and a command must be short.
    if (request.signature !== undefined) loadProtocol();
    const write = await this.prefetching([decisionId], request.approver);
    return write.write(caller, async (transaction) => {
      const decision = requireFound(await transaction.findVisible(DECISION, decisionId), 'decision');
      const admitted = await this.checkReview(transaction, decision, request);
      return admitted instanceof Refusal ? admitted : this.settle(transaction, admitted);
    });
  }

  /**
   * Makes all reviews in one commit, or none. If `review` would refuse one of them, the first refusal is the response,
   * and only it is recorded.
   * @throws as `review`; CONFLICT for a decision whose action differs from the one that the reviewer saw, and for
   *   actions that are too large together
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
      let characters = 0;
      for (const { id, actionHash } of decisions) {
        const decision = requireFound(await transaction.findVisible(DECISION, id), `decision ${id}`);
        if (isAboutChange(decision)) throw conflict(`The decision ${id} is about a change: approve it alone.`);
        if (decision.actionHash !== actionHash)
          throw conflict(`The decision ${id} is about another action than the one you saw.`);
        const admitted = await this.checkReview(transaction, decision, { ...request, verdict: 'approve' }, true);
        if (admitted instanceof Refusal) return admitted;
        characters += await contentLength(transaction, decision);
        if (characters > MAX_TOGETHER && reviews.length > 0)
          throw conflict('These decisions are too large to be approved together. Approve fewer at a time.');
        reviews.push(admitted);
      }
      const settled: Decision[] = [];
      for (const review of reviews) settled.push(await this.settle(transaction, review));
      return settled;
    });
  }

  /** Returns the parameters that a reviewer names, without their secrets. */
  private async redactedInstead(
    caller: Caller,
    decisionId: string,
    instead: JsonObject | undefined,
  ): Promise<JsonObject | undefined> {
    if (instead === undefined) return undefined;
    // The execution of a decision never changes, so it may be read beforehand.
    const { executionId = null } = (await this.reader.find(DECISION, decisionId, SYSTEM_CALLER)) ?? {};
    const execution = executionId === null ? undefined : await this.reader.find(EXECUTION, executionId, SYSTEM_CALLER);
    return this.secrets.redactInstead(caller, instead, execution ?? { agentId: null, parameters: {} });
  }

  private async prefetching(decisionIds: readonly string[], approver: string | null): Promise<LedgerWriter> {
    const proposers = new Set<string>();
    // The proposer of a decision never changes, so it may be read beforehand. The decisions may be large together.
    for (const id of decisionIds) {
      const decision = await this.reader.find(DECISION, id, SYSTEM_CALLER);
      if (decision !== undefined && decision.proposedBy !== null) proposers.add(decision.proposedBy);
    }
    const agents = [...(approver === null ? [] : [approver]), ...proposers].map(agentLookup);
    return this.ledger.withLookups(...decisionIds.map((id) => byId(DECISION, id)), ...agents);
  }

  /** Checks a review. Writes nothing but a refusal. */
  private async checkReview(
    transaction: ServiceTransaction,
    proposed: Decision,
    request: ReviewRequest,
    isTogether = false,
  ): Promise<AdmittedReview | Refusal> {
    const { verdict, comment, grant = null, instead = null, delegationId } = request;
    const unbound = unboundRefusal(transaction.caller, proposed, verdict);
    if (unbound !== null) throw unbound;
    const approver =
      request.approver === null ? null : await requireActingAgent(transaction, 'approverId', request.approver);
    const approverId = approver?.id ?? null;
    if (isExpired(proposed, transaction.now)) {
      // The expiry is recorded, and the review is refused.
      await expireDecision(transaction, proposed);
      return new Refusal(conflict('The decision expired before this review; that is final.'));
    }
    // A command searches among decisions only before it changes one.
    const source = await sourceOf(transaction, proposed);
    const decision = escalateDecision(transaction, proposed);
    const delegator = await delegatorFor(transaction, delegationId, approverId);
    if (delegator instanceof Refusal) return delegator;
    const place = delegator ?? approver;
    await this.requireReviewable(transaction, decision, request, { approverId, placeId: place?.id ?? null });
    const { proposedBy } = decision;
    const proposer = proposedBy === null ? undefined : await transaction.find(AGENT, proposedBy);
    const groups = decision.approvers === null ? null : groupsOf(place, decision.approvers);
    const isSigned = request.signature !== undefined;
    const parties = { approver, delegator, proposer, groups, isSigned, isTogether, source };
    const denial = this.denialOf(decision, verdict, parties);
    if (denial !== null) return recordDenial(transaction, decision, { verdict, approverId }, denial);
    const signature = await this.signatureOf(transaction, request, decision, approverId);
    if (isSigned && signature === null)
      return recordDenial(transaction, decision, { verdict, approverId }, invalidSignature());
    const filled =
      groups !== null && verdict === 'approve' ? fillableBy(isSigned, groups, decision.approvers ?? []) : groups;
    const parts = {
      ...(filled !== null && { groups: filled }),
      ...(grant !== null && { grant }),
      ...(signature !== null && { signature }),
      ...(delegationId !== undefined && { delegationId }),
    };
    const review = { approverId, verdict, comment, createdAt: transaction.now, ...parts };
    const admitted = { decision, review, approver, delegator };
    if (instead === null || approver === null) return { ...admitted, instead: null };
    const couldApprove = this.denialOf(decision, 'approve', parties) === null;
    return { ...admitted, instead: { parameters: instead, couldApprove } };
  }

  /** @throws VALIDATION_ERROR for a grant or parameters that the review cannot give; CONFLICT */
  private async requireReviewable(
    transaction: LedgerTransaction,
    decision: Decision,
    { grant, instead, signature }: ReviewRequest,
    place: ReviewedPlace,
  ): Promise<void> {
    if (grant !== undefined) {
      const { executionId, erased } = decision;
      const execution = executionId === null || erased ? null : await requiredExecution(transaction, executionId);
      requireGrantable(grant, decision, execution);
    }
    if (instead !== undefined) await requireOther(transaction, instead, decision, place.approverId);
    const obstacle = reviewConflict(decision, place, await delegatorsOf(transaction, decision.reviews));
    if (obstacle !== null) throw obstacle;
    if (signature !== undefined) relyingParty(this.configuration.publicUrl);
  }

  /** Returns the signature of the review as it is stored; null if there is none, or it is invalid. */
  private async signatureOf(
    transaction: LedgerTransaction,
    { grant, signature, delegationId }: ReviewRequest,
    decision: Decision,
    approverId: string | null,
  ): Promise<PasskeySignature | null> {
    if (signature === undefined || approverId === null) return null;
    return keptApproval(
      transaction,
      signature,
      { decision, approverId, grant: grant ?? null, delegationId },
      this.configuration.publicUrl,
    );
  }

  private async settle(
    transaction: ServiceTransaction,
    { decision, review, approver, delegator, instead }: AdmittedReview,
  ): Promise<Decision> {
    const after = withReview(decision, review);
    const { requiredApprovals, reviews } = after;
    const { verdict, approverId } = review;
    const basis = {
      rules: this.policies.rules,
      approverRevision: approver?.revision ?? null,
      ...(delegator !== null && { delegator: { agentId: delegator.id, revision: delegator.revision } }),
    };
    const details = { verdict, approvals: approvalsOf(reviews), requiredApprovals, ...basis };
    const note = { action: actionOf(after), agentId: approverId, details };
    const forExecution = approver === null ? {} : { reviewerId: approver.id };
    if (instead !== null) return settleWithInstead(transaction, after, { note, forExecution, instead });
    const settled = await settleDecision(transaction, after, note, forExecution);
    if (after.status === 'approved') await mintGiven(transaction, after);
    return settled;
  }

  private denialOf(decision: Decision, verdict: Verdict, parties: Parties): Denial | null {
    const { approver, delegator, proposer, groups, source } = parties;
    if (approver === null) return null;
    const place = delegator ?? approver;
    const error =
      (delegator === null ? null : substituteFault(decision, approver.id)) ??
      selfApproval(decision, verdict, place.id, this.configuration.allowSelfApproval) ??
      suspension(approver) ??
      suspension(place) ??
      proposerSuspension(verdict, proposer) ??
      deciderFault(decision, verdict, place, source) ??
      deciderFault(decision, verdict, approver, source) ??
      approverFault(decision, verdict, place, groups);
    if (error !== null) return { error, policies: [] };
    const policyDenial =
      this.policyDenial(decision, verdict, place) ??
      (delegator === null ? null : this.policyDenial(decision, verdict, approver));
    if (policyDenial !== null) return policyDenial;
    if (verdict === 'reject' || !lacksSignature(decision, parties)) return null;
    const message =
      'This approval has to be signed with a passkey of the reviewer: approve it in the console, one at a time.';
    return { error: permissionDenied('signature_required', message), policies: [] };
  }

  private policyDenial(decision: Decision, verdict: Verdict, agent: Agent): Denial | null {
    const policies = denyingReview(this.policies, decision, verdict, agent);
    const [first] = policies;
    if (first === undefined) return null;
    const { id, name, version } = first;
    const message = `The policy "${name}" (version ${version}) forbids the agent "${agent.name}" to ${verdict} this decision.`;
    return { error: policyDenied({ id, name, version }, message), policies };
  }
}

/** Returns the number of characters of a decision and of the execution that it is about. */
async function contentLength(transaction: LedgerTransaction, decision: Decision): Promise<number> {
  const { executionId } = decision;
  const execution = executionId === null ? undefined : await requiredExecution(transaction, executionId);
  return jsonLength(decision, execution);
}

/**
 * Returns the facts by which the caller's key, and the reviewers, are known to come from an emergency without a review.
 */
async function sourceOf(transaction: ServiceTransaction, decision: Decision): Promise<ReviewSource> {
  const { type, id } = transaction.caller.actor;
  const emergencies = isAboutChange(decision) ? await unreviewedEmergencies(transaction) : [];
  const key = emergencies.length > 0 && type === 'api_key' ? await transaction.find(API_KEY, id) : undefined;
  return { emergencies: new Set(emergencies.map(({ createdAt }) => createdAt)), keyCreatedAt: key?.createdAt ?? null };
}

/**
 * Returns the person in whose place the approver reviews; null without a delegation. Refuses a delegation that is over
 * or has not begun.
 * @throws VALIDATION_ERROR unless the delegation is to the approver
 */
async function delegatorFor(
  transaction: LedgerTransaction,
  delegationId: string | undefined,
  approverId: string | null,
): Promise<Agent | Refusal | null> {
  if (delegationId === undefined) return null;
  if (approverId === null) throw invalidField('delegationId', 'must be left out without approverId');
  const delegation = await transaction.find(DELEGATION, delegationId);
  if (delegation?.to !== approverId)
    throw invalidField('delegationId', 'must be the id of a delegation to the approver');
  const { status, agentId } = settleDelegation(transaction, delegation);
  // Returned, not thrown, so that changes that were due are written.
  if (status !== 'active')
    return new Refusal(conflict(`The delegation is ${status}; only one that is active lets another person review.`));
  return requirePresent(await transaction.find(AGENT, agentId), `agent of the delegation ${delegationId}`);
}

/**
 * True if an unsigned approval would count for no group, or, given together with others, for fewer groups than a signed
 * approval.
 */
function lacksSignature({ approvers }: Decision, { groups, isSigned, isTogether }: Parties): boolean {
  if (isSigned || groups === null || approvers === null) return false;
  const unsigned = fillableBy(false, groups, approvers).length;
  return isTogether ? unsigned < groups.length : unsigned === 0;
}

function invalidSignature(): Denial {
  const message =
    'The signature was not made by a passkey that the reviewer has, for exactly this approval and for this service.';
  return { error: permissionDenied('signature_invalid', message), policies: [] };
}

/** Returns the action of the entry, which is named after the effect of the review. */
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
