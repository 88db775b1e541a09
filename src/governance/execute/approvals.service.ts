import { Injectable } from '@nestjs/common';
import { requireActingAgent, agentLookup } from '../agents/find-agent';
import { cancelRun, cancelUnlessOver, type RunCancellation } from './run-cancellation';
import { AGENT, type Agent } from '../agents/agent.entity';
import { DECISION } from '../decisions/decision.entity';
import { isApproval, rejectionWords } from '../decisions/decision-rules';
import { countedAgents, type CountedReview, countedReviews, doesCountNow } from '../decisions/reviewers';
import {
  conflict,
  invalidField,
  type DomainError,
  permissionDenied,
  requirePresent,
  type RejectionWords,
} from '../../core/errors/domain-error';
import { cancelConflict, expireApproval, isApprovalOver, ownExecution } from '../executions/execution-rules';
import { type CountedAgent, decidedNote, EXECUTION, type Execution } from '../executions/execution.entity';
import { ExecutionRunner } from '../executions/execution-runner';
import { type Caller, SYSTEM_CALLER } from '../../ledger/kinds/caller';
import { type ServiceTransaction, Refusal } from '../../ledger/commands/ledger-transaction';
import { RecordReader } from '../../ledger/reading/record-reader';
import { LedgerService } from '../../ledger/ledger.service';
import { byId } from '../../ledger/kinds/lookup';
import { cancelRequests, decisionOf, openRequestsFor } from './approval-requests';
import { type ActionRequest, requirePrincipal, takeUses } from './new-execution';
import { repeatingBasis, UnknownOutcomes } from './unknown-outcomes';
import type { ExecutionResult } from './execute.service';
import { hasReplacement } from '../secrets/replacement';
import { audienceOf, Permits, requireNoPermit } from '../permits/permits';
import { type Permission, Permissions } from '../permissions/permissions';
import type { Principal } from '../permissions/principals';
import { ActivePolicies } from '../policies/active-policies';
import { type ApproverGroup, areEqualSets, wantedApprovals } from '../policies/approval/approval-requirement';
import { areFilled, fillableBy, type FillableGroups, groupsOf } from '../policies/approval/approver-groups';

/** An execution as stored for an `Idempotency-Key`, because the record does not contain the time of the resume. */
type StoredResume = Execution & { readonly resumedAt: string };

/** Parameters of a resume besides the execution. */
interface RequestedResume extends Pick<ActionRequest, 'permit' | 'repeats' | 'secret'> {
  /** Upstream of the gateway that resumes; by default that of the execution. */
  readonly via?: string | undefined;
}

/** A run as a request names it. */
interface RunToCancel {
  /** Id or name; undefined if the caller is bound to no agent and named none. */
  readonly agentId?: string | undefined;
  readonly run: string;
  readonly reason?: string | undefined;
}

/** Uses approvals, each once, and cancels executions that wait for one or have one. */
@Injectable()
export class ApprovalsService {
  constructor(
    private readonly ledger: LedgerService,
    private readonly permissions: Permissions,
    private readonly runner: ExecutionRunner,
    private readonly records: RecordReader,
    private readonly permits: Permits,
    private readonly unknownOutcomes: UnknownOutcomes,
    private readonly policies: ActivePolicies,
  ) {}

  /**
   * Returns the comment and alternative of the reviewer whose rejection ended or refused an execution, for callers who
   * see the execution but not the decision.
   */
  async rejectionOf({ decisionId, outcome, reason }: Execution): Promise<RejectionWords | null> {
    if (decisionId === null || (outcome !== 'rejected' && reason !== 'approval_rejected')) return null;
    const decision = await this.records.find(DECISION, decisionId, SYSTEM_CALLER);
    const executionId = decision?.executionId ?? null;
    if (decision === undefined || executionId === null) return null;
    // A refused execution has the decision about an earlier, rejected one.
    const rejected = await this.records.find(EXECUTION, executionId, SYSTEM_CALLER);
    return rejectionWords(decision, rejected?.instead ?? null);
  }

  /**
   * @throws VALIDATION_ERROR; NOT_FOUND; CONFLICT for an execution that is not, or no longer, approved;
   * PERMISSION_DENIED and POLICY_DENIED, with the refusal recorded, if the agent, the policies or the approval no
   * longer suffice
   */
  async resume(
    caller: Caller,
    id: string,
    requested: RequestedResume = {},
  ): Promise<Omit<ExecutionResult, 'isRequested'>> {
    const { permit: permitRequest, secret } = requested;
    this.permits.requireAudience(permitRequest);
    const stored = await this.ledger
      .withLookups(byId(EXECUTION, id))
      .write(caller, (transaction) => this.useApproval(transaction, id, requested), {
        beforeReplay: (transaction, first) => this.refusalOfReplay(transaction, first),
      });
    const execution = await this.runner.carryOut(caller, stored, { secret });
    return { execution, permit: await this.permits.issue(execution, permitRequest, stored.resumedAt) };
  }

  /** @throws NOT_FOUND; CONFLICT for an execution that neither waits for an approval nor has one */
  cancel(caller: Caller, id: string, reason: string | null): Promise<Execution> {
    return this.ledger.withLookups(byId(EXECUTION, id)).write(caller, async (transaction) => {
      const execution = await ownExecution(transaction, id);
      const obstacle = cancelConflict(execution);
      if (obstacle !== null) throw obstacle;
      const isPending = execution.outcome === 'pending_approval';
      const decision = isPending ? await decisionOf(transaction, execution) : undefined;
      if (await cancelUnlessOver(transaction, { execution, decision }, reason)) return ownExecution(transaction, id);
      return new Refusal(isPending ? conflict(EXPIRED_BEFORE) : lateConflict(execution));
    });
  }

  /** @throws VALIDATION_ERROR for an unknown agent; PERMISSION_DENIED for a caller that is bound to another one. */
  async cancelRun(caller: Caller, { agentId: agent, run, reason }: RunToCancel): Promise<RunCancellation> {
    if (agent === undefined)
      throw invalidField('agentId', 'is required: the key or token acts as no agent in particular');
    return this.ledger.withLookups(agentLookup(agent)).write(caller, async (transaction) => {
      const { id: agentId } = await requireActingAgent(transaction, 'agentId', agent);
      return cancelRun(transaction, { agentId, run, reason: reason ?? null });
    });
  }

  private async useApproval(
    transaction: ServiceTransaction,
    id: string,
    { permit: permitRequest, via: requestedVia, repeats }: RequestedResume,
  ): Promise<StoredResume | Refusal> {
    const execution = await ownExecution(transaction, id);
    if (isApprovalOver(execution, transaction.now)) return refuseLate(transaction, execution);
    const { outcome } = execution;
    if (outcome !== 'approved')
      throw conflict(`The execution is ${outcome}; only one that is approved can be resumed.`);
    if (hasReplacement(execution.parameters)) {
      requireNoPermit(permitRequest);
      if (this.runner.hasHandler(execution.action)) throw lostSecrets();
    }
    const checked = await this.checked(transaction, execution, (agent, principal) =>
      this.permissions.check(transaction, agent, execution, principal),
    );
    if (checked.refusal !== null) return recordDenied(transaction, execution, checked, checked.refusal);
    const { actionHash } = execution;
    const via = requestedVia ?? execution.via;
    const unknown = await this.unknownOutcomes.repeatedBy({ via, repeats }, actionHash, transaction);
    const basis = repeatingBasis(checked.permission.basis, unknown);
    const { policies, used } = checked.permission;
    if (unknown !== null && unknown.refusal !== null) {
      const denied = { ...checked, permission: { ...checked.permission, basis } };
      return recordDenied(transaction, execution, denied, unknown.refusal);
    }
    const open = used.length > 0 && actionHash !== null ? await openRequestsFor(transaction, { actionHash }) : [];
    const others = open.filter(({ request }) => request.id !== id);
    const started = { ...this.runner.firstState(execution), observed: basis.observed === true };
    const resumed = { ...execution, ...started, policies, via, resumedSequence: transaction.headSequence + 1 };
    const decided = { ...basis, ...audienceOf(resumed, permitRequest) };
    const note = decidedNote(resumed, 'execution.resumed', decided, checked.approvers);
    const written = transaction.update(EXECUTION, resumed, note);
    await takeUses(transaction, execution.agentId, used);
    await cancelRequests(transaction, others);
    return { ...written, resumedAt: transaction.now };
  }

  private async refusalOfReplay(transaction: ServiceTransaction, first: Execution): Promise<Refusal | null> {
    const execution = await ownExecution(transaction, first.id);
    const isStopped = this.permissions.isStopped(await requiredAgent(transaction, execution), execution);
    if (first.outcome !== 'authorized' && !isStopped) return null;
    // A replay does not take from limits again. If policies allowed the action, observation does not suffice now.
    const permissionNow = (agent: Agent, principal: Principal | null): Promise<Permission> => {
      const checkedAgent = first.observed ? agent : { ...agent, observeUntil: null };
      return this.permissions.check(transaction, checkedAgent, execution, principal, first);
    };
    const checked = await this.checked(transaction, execution, permissionNow);
    return checked.refusal === null ? null : recordDenied(transaction, execution, checked, checked.refusal);
  }

  /** Checks the approval against the agent and the policies as they are now. */
  private async checked(
    transaction: ServiceTransaction,
    execution: Execution,
    permissionOf: (agent: Agent, principal: Principal | null) => Permission | Promise<Permission>,
  ): Promise<CheckedApproval> {
    const agent = await requiredAgent(transaction, execution);
    const { onBehalfOf } = execution;
    // If the execution names no principal, the one in the caller's token is ignored.
    const principal =
      onBehalfOf && (await requirePrincipal(transaction, { ...onBehalfOf, roles: onBehalfOf.roles ?? [] }));
    const permission = await permissionOf(agent, principal);
    const { requirement } = permission;
    if (requirement === null) return { permission, refusal: permission.refusal, approvers: [] };
    const decision = await decisionOf(transaction, execution);
    const approvals = await countedReviews(transaction, decision.reviews.filter(isApproval));
    const counting = approvals.filter((approval) => doesCountNow(this.policies, decision, approval));
    const refusal = approvalFault(requirement.approvers, decision.approvers ?? [], counting);
    return { permission, refusal, approvers: countedAgents(approvals) };
  }
}

interface CheckedApproval {
  readonly permission: Permission;
  readonly refusal: DomainError | null;
  /** Agents whose approvals were examined. */
  readonly approvers: readonly CountedAgent[];
}

async function requiredAgent(transaction: ServiceTransaction, { id, agentId }: Execution): Promise<Agent> {
  return requirePresent(await transaction.find(AGENT, agentId), `agent of the execution ${id}`);
}

function lostSecrets(): DomainError {
  return conflict(
    'The parameters had secrets, which are not kept, so the handler of the action cannot get them any more. Cancel the execution, and ask ' +
      'for the action with a reference to the secret, such as its name in a vault.',
  );
}

const EXPIRED_BEFORE = 'The request for approval expired before it was cancelled; that is final.';

/** Refuses a late request, and records the expiry that it triggers. */
function refuseLate(transaction: ServiceTransaction, execution: Execution): Refusal {
  expireApproval(transaction, execution);
  return new Refusal(lateConflict(execution));
}

function lateConflict({ approvedUntil }: Execution): DomainError {
  return conflict(`The approval of this execution ended at ${String(approvedUntil)}. Ask for the action again.`);
}

function recordDenied(
  transaction: ServiceTransaction,
  execution: Execution,
  { permission: { policies, basis }, approvers }: CheckedApproval,
  refusal: DomainError,
): Refusal {
  const note = decidedNote({ ...execution, policies }, 'execution.resume_denied', basis, approvers);
  transaction.record(EXECUTION, execution, { ...note, outcome: 'denied', reason: refusal.extras.reason ?? null });
  return new Refusal(refusal);
}

/**
 * Returns why an approval does not meet the requirements of the policies now; null if it does. For a group that the
 * decision also named, the approvals from that time count; for any other, the approvers are matched as they are now. A
 * delegated approval counts only if the person in whose place it was made also matches the group now.
 * @param approvals approvals of active agents
 */
function approvalFault(
  required: readonly ApproverGroup[],
  decided: readonly ApproverGroup[],
  approvals: readonly CountedReview[],
): DomainError | null {
  const decidedIndices = required.map(({ subjects, signed }) =>
    decided.findIndex((other) => other.signed === signed && areEqualSets(other.subjects, subjects)),
  );
  const fillable = approvals.map((approval) => filledBy(approval, { required, decided, decidedIndices }));
  if (areFilled(required, fillable)) return null;
  return permissionDenied(
    'approval_insufficient',
    `The approval that was given is not enough: the policies in force require ${wantedApprovals(required)}. Request the action again.`,
  );
}

/** Groups that an approval may have to fill at a resume. */
interface ComparedGroups {
  readonly required: readonly ApproverGroup[];
  readonly decided: readonly ApproverGroup[];
  /** Index in the decision of each required group; -1 if the decision did not name the group. */
  readonly decidedIndices: readonly number[];
}

function filledBy(
  { agent, groups, isSigned, isDelegated }: CountedReview,
  { required, decided, decidedIndices }: ComparedGroups,
): FillableGroups {
  const now = fillableBy(isSigned, groupsOf(agent, required), required);
  const still = isDelegated ? groupsOf(agent, decided).filter((index) => groups.includes(index)) : groups;
  return required.flatMap((_, index) => {
    const then = decidedIndices[index] ?? -1;
    const isMet = then === -1 ? now.includes(index) : still.includes(then);
    return isMet ? [index] : [];
  });
}
