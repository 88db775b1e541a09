import { Injectable } from '@nestjs/common';
import { agentFor, agentLookup, findAgent, requireActsAs } from '../agents/find-agent';
import type { Agent } from '../agents/agent.entity';
import { ENTITY } from '../entities/governed-entity.entity';
import { Configuration } from '../../core/config/configuration';
import type { DomainError } from '../../core/errors/domain-error';
import { decidedNote, type DecisionBasis, EXECUTION, type Execution } from '../executions/execution.entity';
import { actionHash } from '../executions/execution-rules';
import { ExecutionRunner } from '../executions/execution-runner';
import type { Caller } from '../../ledger/caller';
import { type PrefetchQueries, type LedgerTransaction, Refusal } from '../../ledger/ledger-transaction';
import { LedgerService } from '../../ledger/ledger.service';
import type { RowQuery } from '../../ledger/records/row-query';
import { byId } from '../../ledger/lookup';
import { entityIdIn } from '../policies/conditions/condition';
import {
  type ApprovalRequestResult,
  askedOfOpen,
  requestApproval,
  cancelRequests,
  openRequestsFor,
} from './approval-requests';
import { type ActionRequest, buildExecution, type NewExecution, requirePrincipal, takeUses } from './new-execution';
import { takeUse } from '../decisions/grants/grant-changes';
import { GrantFinder, type CoveringGrant } from '../decisions/grants/grant-finder';
import type { ApprovalRequirement } from '../policies/approval/approval-requirement';
import { type PermitRequest, audienceOf, Permits } from '../permits/permits';
import { type Permission, Permissions } from '../permissions/permissions';
import { namedPeople, type Principal } from '../permissions/principals';

/** An execution, and whether this request was the first to ask for its approval. */
export interface ExecutionResult {
  readonly execution: Execution;
  readonly isRequested: boolean;
  /** Null if none was asked for, or it cannot be given. */
  readonly permit: string | null;
}

/** As it is kept for an `Idempotency-Key`, so that a replay says the same. */
type StoredExecution = Execution & { readonly isRequested?: true };

/** Authorises what agents want to do, asks for approval where it is required, and has the action carried out. */
@Injectable()
export class ExecuteService {
  constructor(
    private readonly ledger: LedgerService,
    private readonly permissions: Permissions,
    private readonly runner: ExecutionRunner,
    private readonly configuration: Configuration,
    private readonly grants: GrantFinder,
    private readonly permits: Permits,
  ) {}

  /**
   * @throws NOT_FOUND; CONFLICT when too many requests of the agent are waiting for approval; PERMISSION_DENIED and
   * POLICY_DENIED, with the refused execution recorded.
   */
  async execute(caller: Caller, agent: string, request: ActionRequest): Promise<ExecutionResult> {
    this.permits.requireAudience(request.permit);
    const people = namedPeople(caller, request.onBehalfOf).map(agentLookup);
    const entityId = entityIdIn(request.resourceId);
    const entities = entityId === null ? [] : [byId(ENTITY, entityId)];
    const lookups = [agentLookup(agent), ...people, ...entities];
    const foresight: PrefetchQueries = async (transaction) => {
      const found = await findAgent(transaction, agent);
      if (found === undefined) return [];
      const asked = { ...request, agentId: found.id, onBehalfOf: null };
      const ofLimits = (): RowQuery[] => askedOfOpen(transaction, actionHash(asked));
      return this.permissions.rowQueries(found, request, transaction.now, ofLimits);
    };
    const kept = await this.ledger.withLookups(...lookups).write(
      caller,
      async (transaction) => {
        return this.answer(transaction, await requiredAsker(transaction, agent, request), request);
      },
      {
        beforeReplay: (transaction, first) => this.answerInstead(transaction, agent, request, first),
        ...(!this.permissions.needsNoFacts && { foresight }),
      },
    );
    const execution = await this.runner.carryOut(caller, kept);
    const permit = await this.permits.issue(execution, request.permit, execution.createdAt);
    return { execution, isRequested: kept.isRequested === true, permit };
  }

  private async answer(
    transaction: LedgerTransaction,
    { agent, principal }: Requester,
    request: ActionRequest,
  ): Promise<StoredExecution | Refusal> {
    const permission = await this.permissions.check(transaction, agent, request, principal);
    const { refusal, requirement, policies, basis } = permission;
    const asked = await buildExecution(transaction, agent, request, principal?.onBehalfOf ?? null, policies);
    if (refusal !== null) return recordRefused(transaction, asked, refusal, basis);
    const { permit } = request;
    if (requirement === null) return this.authorise(transaction, asked, permit, permission);
    const { maxPendingApprovals: maxPending } = this.configuration;
    const grant = (): Promise<CoveringGrant | null> =>
      this.grants.findCovering(transaction, { ...asked, onBehalfOf: asked.principal }, requirement);
    const answer = await requestApproval(transaction, asked, { requirement, basis, maxPending, grant });
    if ('serving' in answer) return this.authorise(transaction, asked, permit, permission, answer);
    if ('execution' in answer) return answer.isNew ? { ...answer.execution, isRequested: true } : answer.execution;
    return recordRefused(transaction, { ...asked, decisionId: answer.decisionId }, answer.refusal, basis);
  }

  /**
   * An action that a grant covers, or that limits allow, needs no approval: open requests for it are cancelled, so that nothing
   * is done twice.
   */
  private async authorise(
    transaction: LedgerTransaction,
    asked: NewExecution,
    permit: PermitRequest | undefined,
    { basis, used: wanted }: Permission,
    granted?: GrantAnswer,
  ): Promise<Execution> {
    const { grant, approvers } = granted?.serving ?? { grant: null, approvers: [] };
    const used = grant === null ? wanted : [];
    const waiting = granted?.waiting ?? (used.length > 0 ? await openRequestsFor(transaction, asked) : []);
    const by = grant === null ? {} : { grantId: grant.id };
    const authorised = { ...asked, ...this.runner.startOf(asked.action), ...by, observed: basis.observed === true };
    const decided = { ...basis, ...by, ...audienceOf(authorised, permit) };
    const note = decidedNote(asked, 'execution.authorized', decided, approvers);
    const execution = transaction.insert(EXECUTION, authorised, note);
    if (grant !== null) await takeUse(transaction, grant);
    await takeUses(transaction, asked.agentId, used);
    await cancelRequests(transaction, waiting);
    return execution;
  }

  /**
   * A caller acts on a replayed "go" now, so it is only replayed while a new request would be allowed as well; nothing is
   * replayed that is stopped. Otherwise the request is answered as a new one.
   */
  private async answerInstead(
    transaction: LedgerTransaction,
    idOrName: string,
    request: ActionRequest,
    first: StoredExecution,
  ): Promise<StoredExecution | Refusal | null> {
    const asker = await requiredAsker(transaction, idOrName, request);
    // The token of a replay may name another principal.
    const isSame = (asker.principal?.onBehalfOf.subject ?? null) === first.principal;
    const { agent, principal } = asker;
    if (isSame && first.outcome !== 'authorized' && !this.permissions.isStopped(agent, request)) return null;
    // What the first answer took from limits is not taken again.
    const permission = await this.permissions.check(transaction, agent, request, principal, first);
    const { refusal, requirement, basis } = permission;
    // If policies allowed it at first, being observed is not enough now.
    const isAllowed = refusal === null && (first.observed || basis.observed !== true);
    const { grantId } = first;
    // What a grant authorised needs no approval for as long as that grant still holds.
    const isServed = async (required: ApprovalRequirement): Promise<boolean> => {
      const asked = { ...request, agentId: agent.id, onBehalfOf: first.principal };
      return grantId !== null && this.grants.stillServes(transaction, grantId, asked, required);
    };
    if (isSame && isAllowed && (requirement === null || (await isServed(requirement)))) return null;
    return this.answer(transaction, asker, request);
  }
}

type GrantAnswer = Extract<ApprovalRequestResult, { serving: CoveringGrant }>;

/** Who asks, and for whom. */
interface Requester {
  readonly agent: Agent;
  readonly principal: Principal | null;
}

async function requiredAsker(
  transaction: LedgerTransaction,
  idOrName: string,
  { onBehalfOf }: ActionRequest,
): Promise<Requester> {
  const { caller } = transaction;
  const agent = agentFor(caller, await findAgent(transaction, idOrName), (id) => requireActsAs(caller, id));
  return { agent, principal: await requirePrincipal(transaction, onBehalfOf) };
}

function recordRefused(
  transaction: LedgerTransaction,
  asked: NewExecution,
  refusal: DomainError,
  basis: DecisionBasis,
): Refusal {
  const reason = refusal.extras.reason ?? null;
  const denied = {
    outcome: 'denied',
    ...asked,
    reason,
    failureReason: refusal.message,
    completedAt: transaction.now,
  } as const;
  const note = decidedNote(asked, 'execution.denied', basis);
  transaction.insert(EXECUTION, denied, { ...note, outcome: 'denied', reason });
  return new Refusal(refusal);
}
