import { Injectable } from '@nestjs/common';
import { addDuration } from '../../core/values/duration';
import { conflict, DomainError, scopeMissing } from '../../core/errors/domain-error';
import { AcceptedAnswer } from '../../http/responses/accepted-answer';
import type { Caller, CommandGate } from '../../ledger/kinds/caller';
import {
  Deferral,
  Refusal,
  type ServiceCommand,
  type ServiceTransaction,
} from '../../ledger/commands/ledger-transaction';
import { Database } from '../../ledger/database/database';
import { AGENT } from '../agents/agent.entity';
import { CHANGE_REVIEW_TYPE, CHANGE_TYPE, isProposerOf, reviewContext } from '../decisions/changes/change';
import { unreviewedEmergencies } from '../decisions/changes/emergencies';
import { decisionOfRequest, keepRequest, removeRequest } from '../decisions/changes/change-requests';
import type { Change } from '../decisions/change-content';
import { DECISION, type Decision, proposedDecision, proposedNote } from '../decisions/decision.entity';
import { areEnough, isApproval, isExpired } from '../decisions/decision-rules';
import { countedAgents, countedReviews, doesCountNow } from '../decisions/reviewers';
import { DecisionResponse } from '../decisions/dto/decision.response';
import type { CountedAgent } from '../executions/execution.entity';
import { ActivePolicies } from '../policies/active-policies';
import { type ApproverGroup, sumOfApprovals } from '../policies/approval/approval-requirement';
import { approversFor } from './change-approvers';
import { FourEyes } from './four-eyes';
import { type HeldRequest, requestHashOf } from './held-request';

/** Time in which a change must be approved. */
const DECIDE_WITHIN = 'P7D';
const MAX_OPEN = 100;
const MAX_UNREVIEWED = 3;
const MAX_BODY_BYTES = 1024 * 1024;
const MAX_SUMMARY = 450;

/** Groups for the review of an emergency: every person, except those whom its rules exclude. */
const REVIEWERS = [{ subjects: ['kind:human'], approvals: 1 }];

/** Holds back the writes of requests until a second person has approved them. */
@Injectable()
export class ChangeGates {
  constructor(
    private readonly fourEyes: FourEyes,
    private readonly policies: ActivePolicies,
    private readonly database: Database,
  ) {}

  /** Returns the gate of one request. */
  gateFor(held: HeldRequest, caller: Caller): CommandGate {
    return {
      run: (transaction: ServiceTransaction, command: ServiceCommand<unknown>) =>
        this.run({ held, caller }, transaction, command),
    };
  }

  private async run(
    request: GatedRequest,
    transaction: ServiceTransaction,
    command: ServiceCommand<unknown>,
  ): Promise<unknown> {
    if (!(await this.fourEyes.holdsBack(transaction))) return command(transaction);
    const { changeId, emergency } = request.held;
    if (emergency !== null) return this.makeAtOnce(request, emergency, transaction, command);
    if (changeId === null) return this.propose(request, transaction, command);
    const decision = await this.requireChange(request, changeId, transaction);
    if (decision.status === 'proposed') return pendingChange(decision);
    return this.make(request, decision, transaction, command);
  }

  /** Runs the command to see whether the request is valid and would change anything, then discards its writes. */
  private async propose(
    request: GatedRequest,
    transaction: ServiceTransaction,
    command: ServiceCommand<unknown>,
  ): Promise<unknown> {
    const first = transaction.headSequence + 1;
    const result = await command(transaction);
    if (!mustWait(request, { result, first }, transaction)) return result;
    transaction.discard();
    const same = await this.openChange(request, transaction);
    if (same !== undefined) return pendingChange(same);
    if (request.held.bodyBytes > MAX_BODY_BYTES)
      throw new DomainError('PAYLOAD_TOO_LARGE', `The body of a change may have at most ${MAX_BODY_BYTES} bytes.`);
    const open = await transaction.count(DECISION, { type: CHANGE_TYPE, status: 'proposed' });
    if (open >= MAX_OPEN)
      throw conflict(
        `At most ${MAX_OPEN} changes wait for their approval at a time. Have some decided, or cancel some.`,
      );
    return pendingChange(await this.insertChange(request, result, transaction));
  }

  private async insertChange(
    { held, caller }: GatedRequest,
    result: unknown,
    transaction: ServiceTransaction,
  ): Promise<Decision> {
    const { rule, input } = held;
    const approvers = await approversOf(transaction, this.fourEyes.groups, caller);
    const change = this.changeOf(held, result);
    const decision = proposedDecision(transaction.newId(DECISION), transaction.now, {
      type: CHANGE_TYPE,
      title: change.summary,
      proposedBy: caller.agentId,
      actor: caller.actor,
      change,
      riskLevel: 'high',
      approvers,
      requiredApprovals: sumOfApprovals(approvers),
      expiresAt: addDuration(DECIDE_WITHIN, transaction.now),
      executeWithin: this.fourEyes.within,
      traceId: caller.traceId,
    });
    const body = rule.visibleBody?.(input.body, result) ?? input.body;
    transaction.writeWithoutEntry(keepRequest(requestHashOf(held, caller), decision.id, body));
    return transaction.insert(DECISION, decision, proposedNote(decision));
  }

  private changeOf({ rule, input, method, path, bodyHash }: HeldRequest, result: unknown): Change {
    const summary = `${Array.from(rule.summary(input, result)).slice(0, MAX_SUMMARY).join('')}.`;
    const rules = rule.changesPolicies === true ? { rules: this.policies.rules } : {};
    return { method, path, bodyHash, summary, ...rules };
  }

  /** Finds the decision on the same request of the same caller, if it is open, or approved and still usable. */
  private async openChange(
    { held, caller }: GatedRequest,
    transaction: ServiceTransaction,
  ): Promise<Decision | undefined> {
    const id = await decisionOfRequest(this.database, requestHashOf(held, caller));
    const decision = id === undefined ? undefined : await transaction.find(DECISION, id);
    if (decision === undefined || isExpired(decision, transaction.now)) return undefined;
    if (this.areOtherRules(decision)) return undefined;
    if (decision.status === 'proposed') return decision;
    const isStanding = isUsable(decision, transaction.now) && (await this.approvalsOf(decision, transaction)).areEnough;
    return isStanding ? decision : undefined;
  }

  /** Returns the decision that a request names, if it is open, or allows this very request. @throws CONFLICT */
  private async requireChange(
    { held, caller }: GatedRequest,
    changeId: string,
    transaction: ServiceTransaction,
  ): Promise<Decision> {
    const decision = await transaction.find(DECISION, changeId);
    const change = decision?.change ?? null;
    if (decision === undefined || change === null || decision.type !== CHANGE_TYPE || !isProposerOf(decision, caller))
      throw conflict('The header Change names no change that this caller proposed.');
    const { method, path, bodyHash } = held;
    if (change.method !== method || change.path !== path || change.bodyHash !== bodyHash)
      throw conflict(
        'The header Change names the decision on another request: method, path and body have to be the same.',
      );
    if (change.madeAt !== undefined) throw conflict(`This change was made already, at ${change.madeAt}.`);
    if (isExpired(decision, transaction.now) || !['proposed', 'approved'].includes(decision.status))
      throw conflict(`The decision on this change is ${decision.status === 'proposed' ? 'expired' : decision.status}.`);
    if (decision.status === 'approved' && !isUsable(decision, transaction.now))
      throw conflict(
        'This change was approved too long ago: CHANGE_WITHIN is over. Send it without the header to propose it again.',
      );
    if (this.areOtherRules(decision))
      throw conflict(
        'Other policies are in force than when this change was proposed. Send it without the header again.',
      );
    return decision;
  }

  /**
   * Returns the approvals of a change, and whether those that count now are enough, as when an execution is resumed.
   */
  private async approvalsOf(
    decision: Decision,
    transaction: ServiceTransaction,
  ): Promise<{ readonly approvers: readonly CountedAgent[]; readonly areEnough: boolean }> {
    const approvals = await countedReviews(transaction, decision.reviews.filter(isApproval));
    const counting = approvals.filter((approval) => doesCountNow(this.policies, decision, approval));
    const fillable = counting.map(({ groups }) => groups);
    return { approvers: countedAgents(approvals), areEnough: areEnough(decision, fillable) };
  }

  private areOtherRules({ change }: Decision): boolean {
    return change?.rules !== undefined && change.rules !== this.policies.rules;
  }

  private async make(
    { held, caller }: GatedRequest,
    decision: Decision,
    transaction: ServiceTransaction,
    command: ServiceCommand<unknown>,
  ): Promise<unknown> {
    const approvals = await this.approvalsOf(decision, transaction);
    if (!approvals.areEnough)
      throw conflict(
        'Somebody who approved this change is suspended now, or may not approve it any more. Send it without the header to propose it again.',
      );
    const first = transaction.headSequence + 1;
    transaction.entryAddition = { details: { changeId: decision.id } };
    const result = await command(transaction);
    if (!mustWait({ held, caller }, { result, first }, transaction)) return runAlone(transaction, command);
    const last = transaction.headSequence;
    transaction.entryAddition = {};
    // The command may have changed the decision as well.
    const current = (await transaction.find(DECISION, decision.id)) ?? decision;
    const change = current.change && { ...current.change, madeAt: transaction.now };
    transaction.update(
      DECISION,
      { ...current, change, updatedAt: transaction.now },
      {
        action: 'decision.change_made',
        agentId: decision.proposedBy,
        details: { firstSequence: first, lastSequence: last, approvers: approvals.approvers },
      },
    );
    transaction.writeWithoutEntry(removeRequest(decision.id));
    return result;
  }

  /** @throws PERMISSION_DENIED without `admin`; CONFLICT if too many emergencies have no review yet */
  private async makeAtOnce(
    { held, caller }: GatedRequest,
    emergency: string,
    transaction: ServiceTransaction,
    command: ServiceCommand<unknown>,
  ): Promise<unknown> {
    if (!caller.effectiveScopes.has('admin')) throw scopeMissing(['admin']);
    const unreviewed = await unreviewedEmergencies(transaction);
    if (unreviewed.length >= MAX_UNREVIEWED)
      throw conflict(`${MAX_UNREVIEWED} emergencies wait for their review already. Have one of them reviewed first.`);
    const first = transaction.headSequence + 1;
    transaction.entryAddition = { details: { breakGlass: true }, reason: emergency };
    const result = await command(transaction);
    if (!mustWait({ held, caller }, { result, first }, transaction)) return runAlone(transaction, command);
    const change = this.changeOf(held, result);
    const approvers = await approversOf(transaction, REVIEWERS, caller);
    const before = unreviewed.map(({ createdAt }) => createdAt).sort()[0] ?? transaction.now;
    const decision = proposedDecision(transaction.newId(DECISION), transaction.now, {
      type: CHANGE_REVIEW_TYPE,
      title: `Review of an emergency: ${change.summary}`,
      description: emergency,
      context: reviewContext(before),
      proposedBy: caller.agentId,
      actor: caller.actor,
      change: { ...change, madeAt: transaction.now },
      riskLevel: 'high',
      approvers,
      requiredApprovals: sumOfApprovals(approvers),
      traceId: caller.traceId,
    });
    const { action, agentId = null, details } = proposedNote(decision);
    const sequences = { firstSequence: first, lastSequence: transaction.headSequence };
    transaction.insert(DECISION, decision, { action, agentId, details: { ...details, ...sequences } });
    return result;
  }
}

/** Returns the groups that decide on the request of a caller. */
async function approversOf(
  transaction: ServiceTransaction,
  groups: readonly ApproverGroup[],
  { agentId }: Caller,
): Promise<ApproverGroup[]> {
  const proposer = agentId === null ? undefined : await transaction.find(AGENT, agentId);
  return approversFor(groups, proposer?.kind === 'human');
}

interface GatedRequest {
  readonly held: HeldRequest;
  readonly caller: Caller;
}

/** True between the approval and the end of CHANGE_WITHIN, unless the change was made. */
function isUsable({ status, change, resolvedAt, executeWithin }: Decision, now: string): boolean {
  if (status !== 'approved' || change === null || change.madeAt !== undefined) return false;
  return resolvedAt !== null && executeWithin !== null && now < addDuration(executeWithin, resolvedAt);
}

/**
 * True if a request must wait for a second person. False for a refusal, a request that changed nothing, and a change
 * that one person may make.
 */
function mustWait(
  { held: { rule, input }, caller }: GatedRequest,
  { result, first }: { readonly result: unknown; readonly first: number },
  { headSequence, sideWrites }: ServiceTransaction,
): boolean {
  const hasChanged = headSequence >= first || (rule.writesAside === true && sideWrites > 0);
  return hasChanged && !(result instanceof Refusal) && rule.isHeld?.(input, caller, result) !== false;
}

/**
 * Discards what a command has written, and runs it again as one that needs no second person: its entries name neither a
 * change nor an emergency.
 */
function runAlone(transaction: ServiceTransaction, command: ServiceCommand<unknown>): Promise<unknown> {
  transaction.discard();
  transaction.entryAddition = {};
  return command(transaction);
}

function pendingChange(decision: Decision): Deferral {
  return new Deferral(new AcceptedAnswer(`/api/v1/decisions/${decision.id}`, DecisionResponse.from(decision)));
}
