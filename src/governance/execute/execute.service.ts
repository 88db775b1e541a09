import { Injectable } from '@nestjs/common';
import { agentFor, agentLookup, findAgent, findNamedAgent, requireActsAs } from '../agents/find-agent';
import type { Agent } from '../agents/agent.entity';
import { ENTITY } from '../entities/governed-entity.entity';
import { Configuration } from '../../core/config/configuration';
import { DomainError } from '../../core/errors/domain-error';
import { decidedNote, type DecisionBasis, EXECUTION, type Execution } from '../executions/execution.entity';
import { actionHash } from '../executions/execution-rules';
import { ExecutionRunner } from '../executions/execution-runner';
import type { Caller } from '../../ledger/kinds/caller';
import { type AnnounceQueries, type ServiceTransaction, Refusal } from '../../ledger/commands/ledger-transaction';
import { LedgerService } from '../../ledger/ledger.service';
import { keyReuseConflict } from '../../ledger/idempotency/idempotency-store';
import type { RowQuery } from '../../ledger/records/row-query';
import { byId } from '../../ledger/kinds/lookup';
import { entityIdIn } from '../policies/conditions/condition';
import {
  type ApprovalRequestResult,
  openRequestQueries,
  requestApproval,
  cancelRequests,
  openRequestsFor,
} from './approval-requests';
import { type ActionRequest, buildExecution, type NewExecution, requirePrincipal, takeUses } from './new-execution';
import { takeUse } from '../decisions/grants/grant-changes';
import { GrantFinder, type CoveringGrant } from '../decisions/grants/grant-finder';
import type { ApprovalRequirement } from '../policies/approval/approval-requirement';
import { SecretRedaction } from '../secrets/secret-redaction';
import { type PermitRequest, audienceOf, Permits, requireNoPermit } from '../permits/permits';
import { repeatingBasis, UnknownOutcomes } from './unknown-outcomes';
import { alreadyAuthorized } from './via';
import { type Permission, Permissions } from '../permissions/permissions';
import { namedPeople, type Principal } from '../permissions/principals';

/** An execution, and whether this request was the first to ask for its approval. */
export interface ExecutionResult {
  readonly execution: Execution;
  readonly isRequested: boolean;
  /** Null if none was requested, or none can be issued. */
  readonly permit: string | null;
}

/** An execution as stored for an `Idempotency-Key`, so that a replay has the same header. */
type StoredExecution = Execution & { readonly isRequested?: true };

/** Authorises the actions of agents, requests approval where policies require it, and runs the handler. */
@Injectable()
export class ExecuteService {
  constructor(
    private readonly ledger: LedgerService,
    private readonly permissions: Permissions,
    private readonly runner: ExecutionRunner,
    private readonly configuration: Configuration,
    private readonly grants: GrantFinder,
    private readonly permits: Permits,
    private readonly unknownOutcomes: UnknownOutcomes,
    private readonly secrets: SecretRedaction,
  ) {}

  /**
   * @throws NOT_FOUND; CONFLICT if too many requests of the agent wait for approval; PERMISSION_DENIED and
   * POLICY_DENIED, with the refused execution recorded
   */
  async execute(caller: Caller, agent: string, sent: ActionRequest): Promise<ExecutionResult> {
    this.permits.requireAudience(sent.permit);
    const { parameters, sentParameters } = await this.secrets.redactAction(caller, agent, sent);
    if (sentParameters !== undefined) requireNoPermit(sent.permit);
    const request = { ...sent, parameters };
    const people = namedPeople(caller, request.onBehalfOf).map(agentLookup);
    const entityId = entityIdIn(request.resourceId);
    const entities = entityId === null ? [] : [byId(ENTITY, entityId)];
    const lookups = [agentLookup(agent), ...people, ...entities];
    const announceQueries: AnnounceQueries = async (transaction) => {
      const agentNow = await findAgent(transaction, agent);
      if (agentNow === undefined) return [];
      const hash = (): string => actionHash({ ...request, agentId: agentNow.id, onBehalfOf: null });
      const limitQueries = (): RowQuery[] => openRequestQueries(transaction, hash());
      const gatewayQueries = request.via === undefined ? [] : [this.unknownOutcomes.rowQuery(hash())];
      return [...this.permissions.rowQueries(agentNow, request, transaction.now, limitQueries), ...gatewayQueries];
    };
    const stored = await this.ledger.withLookups(...lookups).write(
      caller,
      async (transaction) => {
        return this.answer(transaction, await requireRequester(transaction, agent, request), request);
      },
      {
        beforeReplay: (transaction, first) => this.answerInstead(transaction, agent, request, first),
        ...((!this.permissions.needsNoFacts || request.via !== undefined) && { announceQueries }),
      },
    );
    const { secret } = sent;
    const execution = await this.runner.carryOut(caller, stored, { sentParameters, secret });
    const permit = await this.permits.issue(execution, request.permit, execution.createdAt);
    return { execution, isRequested: stored.isRequested === true, permit };
  }

  /** @param conflict thrown if the request would be allowed, or wait for an approval */
  private async answer(
    transaction: ServiceTransaction,
    { agent, principal }: Requester,
    request: ActionRequest,
    conflict?: DomainError,
  ): Promise<StoredExecution | Refusal> {
    const permission = await this.permissions.check(transaction, agent, request, principal);
    const { refusal, requirement, policies } = permission;
    if (refusal === null && conflict !== undefined) throw conflict;
    const newExecution = await buildExecution(transaction, agent, request, principal?.onBehalfOf ?? null, policies);
    if (refusal !== null) return recordRefused(transaction, newExecution, refusal, permission.basis);
    const unknown = await this.unknownOutcomes.repeatedBy(request, newExecution.actionHash, transaction);
    const basis = repeatingBasis(permission.basis, unknown);
    if (unknown !== null && unknown.refusal !== null)
      return recordRefused(transaction, newExecution, unknown.refusal, basis);
    const { permit } = request;
    const decided = { ...permission, basis };
    if (requirement === null) return this.authorise(transaction, newExecution, permit, decided);
    const { maxPendingApprovals: maxPending } = this.configuration;
    const grant = (): Promise<CoveringGrant | null> =>
      this.grants.findCovering(transaction, { ...newExecution, onBehalfOf: newExecution.principal }, requirement);
    const answer = await requestApproval(transaction, newExecution, { requirement, basis, maxPending, grant });
    if ('serving' in answer) return this.authorise(transaction, newExecution, permit, decided, answer);
    if ('execution' in answer) return answer.isNew ? { ...answer.execution, isRequested: true } : answer.execution;
    return recordRefused(transaction, { ...newExecution, decisionId: answer.decisionId }, answer.refusal, basis);
  }

  /**
   * Authorises an action. An action that a grant covers, or that limits allow, needs no approval: its open requests are
   * cancelled, so that it is not done twice.
   */
  private async authorise(
    transaction: ServiceTransaction,
    newExecution: NewExecution,
    permit: PermitRequest | undefined,
    { basis, used: limitUses }: Permission,
    granted?: GrantAnswer,
  ): Promise<Execution> {
    const { grant, approvers } = granted?.serving ?? { grant: null, approvers: [] };
    const used = grant === null ? limitUses : [];
    const waiting = granted?.waiting ?? (used.length > 0 ? await openRequestsFor(transaction, newExecution) : []);
    const by = grant === null ? {} : { grantId: grant.id };
    const authorised = {
      ...newExecution,
      ...this.runner.firstState(newExecution),
      ...by,
      observed: basis.observed === true,
    };
    const decided = { ...basis, ...by, ...audienceOf(authorised, permit) };
    const note = decidedNote(newExecution, 'execution.authorized', decided, approvers);
    const execution = transaction.insert(EXECUTION, authorised, note);
    if (grant !== null) await takeUse(transaction, grant);
    await takeUses(transaction, newExecution.agentId, used);
    await cancelRequests(transaction, waiting);
    return execution;
  }

  /**
   * Decides about a replay, on which the caller acts now. The response is replayed only if a new request would be
   * allowed as well, and no stop covers it. Otherwise the request is handled as a new one, or is refused if that would
   * let a gateway send it again.
   * @throws CONFLICT
   */
  private async answerInstead(
    transaction: ServiceTransaction,
    idOrName: string,
    request: ActionRequest,
    first: StoredExecution,
  ): Promise<StoredExecution | Refusal | null> {
    const requester = await requireRequester(transaction, idOrName, request);
    // The token of a replay may name another principal.
    const isSame = (requester.principal?.onBehalfOf.subject ?? null) === first.principal;
    const { agent, principal } = requester;
    if (isSame && first.outcome !== 'authorized' && !this.permissions.isStopped(agent, request)) return null;
    // A replay does not take from limits again.
    const permission = await this.permissions.check(transaction, agent, request, principal, first);
    const { refusal, requirement, basis } = permission;
    // If policies allowed the action at first, observation does not suffice now.
    const isAllowed = refusal === null && (first.observed || basis.observed !== true);
    const { grantId } = first;
    // An action that a grant authorised needs no approval while that grant still holds.
    const isServed = async (required: ApprovalRequirement): Promise<boolean> => {
      const coverage = { ...request, agentId: agent.id, onBehalfOf: first.principal };
      return grantId !== null && this.grants.stillCovers(transaction, grantId, coverage, required);
    };
    if (isSame && isAllowed && (requirement === null || (await isServed(requirement)))) return null;
    // A gateway has sent what it was authorised to under this key, or is about to. To a new request that execution is an
    // earlier one, so its answer may differ from the one above.
    const conflict = isSame ? alreadyAuthorized(first.id) : keyReuseConflict();
    return this.answer(transaction, requester, request, request.via === undefined ? undefined : conflict);
  }
}

type GrantAnswer = Extract<ApprovalRequestResult, { serving: CoveringGrant }>;

/** The agent of a request, and its principal. */
interface Requester {
  readonly agent: Agent;
  readonly principal: Principal | null;
}

async function requireRequester(
  transaction: ServiceTransaction,
  idOrName: string,
  { onBehalfOf }: ActionRequest,
): Promise<Requester> {
  const { caller } = transaction;
  const agent = agentFor(caller, await findNamedAgent(caller, transaction, idOrName), (id) =>
    requireActsAs(caller, id),
  );
  return { agent, principal: await requirePrincipal(transaction, onBehalfOf) };
}

function recordRefused(
  transaction: ServiceTransaction,
  newExecution: NewExecution,
  refusal: DomainError,
  basis: DecisionBasis,
): Refusal {
  const reason = refusal.extras.reason ?? null;
  const denied = {
    outcome: 'denied',
    ...newExecution,
    reason,
    failureReason: refusal.message,
    completedAt: transaction.now,
  } as const;
  const note = decidedNote(newExecution, 'execution.denied', basis);
  transaction.insert(EXECUTION, denied, { ...note, outcome: 'denied', reason });
  const { code, message, extras } = refusal;
  return new Refusal(new DomainError(code, message, { ...extras, executionId: newExecution.id }));
}
