import { Injectable } from '@nestjs/common';
import { agentLookup, findAgent, requireActsAs } from '../agents/find-agent';
import type { Agent } from '../agents/agent.entity';
import { Configuration } from '../../core/config/configuration';
import { type DomainError, found } from '../../core/errors/domain-error';
import { decidedNote, EXECUTION, type Execution } from '../executions/execution.entity';
import { ExecutionRunner } from '../executions/execution-runner';
import type { Caller } from '../../ledger/caller';
import { type LedgerTransaction, Refusal } from '../../ledger/ledger-transaction';
import { LedgerService } from '../../ledger/ledger.service';
import { askForApproval } from './approval-requests';
import { type ActionRequest, askedExecution, type AskedExecution, entityLookups } from './asked-execution';
import { type Permission, Permissions } from '../permissions/permissions';

/** An execution, and whether this request was the first to ask for its approval. */
export interface AnsweredExecution {
  readonly execution: Execution;
  readonly isRequested: boolean;
}

/** As it is kept for an `Idempotency-Key`, so that a replay says the same. */
type Kept = Execution & { readonly isRequested?: true };

/** Authorises what agents want to do, asks for approval where it is required, and has the action carried out. */
@Injectable()
export class ExecuteService {
  constructor(
    private readonly ledger: LedgerService,
    private readonly permissions: Permissions,
    private readonly runner: ExecutionRunner,
    private readonly configuration: Configuration,
  ) {}

  /**
   * @throws NOT_FOUND; CONFLICT when too many requests of the agent are waiting for approval; PERMISSION_DENIED and
   * POLICY_DENIED, with the refused execution recorded.
   */
  async execute(caller: Caller, agent: string, request: ActionRequest): Promise<AnsweredExecution> {
    const kept = await this.ledger.prefetching(agentLookup(agent), ...entityLookups(request.resourceId)).write(
      caller,
      async (transaction) => {
        const found = await requiredAgent(transaction, agent);
        return this.answer(transaction, found, request, this.permissions.of(found, request, transaction.now));
      },
      { beforeReplay: (transaction, first) => this.answerInstead(transaction, agent, request, first) },
    );
    return { execution: await this.runner.carriedOut(caller, kept), isRequested: kept.isRequested === true };
  }

  private async answer(
    transaction: LedgerTransaction,
    agent: Agent,
    request: ActionRequest,
    { refusal, requirement, policies, policySet }: Permission,
  ): Promise<Kept | Refusal> {
    const asked = await askedExecution(transaction, agent, request, policies);
    if (refusal !== null) return recordRefused(transaction, asked, refusal, policySet);
    if (requirement === null) return this.authorise(transaction, asked, policySet);
    const { maxPendingApprovals } = this.configuration;
    const answer = await askForApproval(transaction, asked, { requirement, policySet }, maxPendingApprovals);
    if ('execution' in answer) return answer.isNew ? { ...answer.execution, isRequested: true } : answer.execution;
    return recordRefused(transaction, { ...asked, decisionId: answer.decisionId }, answer.refusal, policySet);
  }

  private authorise(transaction: LedgerTransaction, asked: AskedExecution, policySet: string): Execution {
    const { outcome, runBy } = this.runner.startOf(asked.action);
    const authorised = { outcome, ...asked, runBy };
    return transaction.insert(EXECUTION, authorised, decidedNote(asked, 'execution.authorized', policySet));
  }

  /**
   * A caller acts on a replayed "go" now, so it is only replayed while a new request would be allowed as well;
   * otherwise the request is answered as a new one.
   */
  private async answerInstead(
    transaction: LedgerTransaction,
    idOrName: string,
    request: ActionRequest,
    first: Kept,
  ): Promise<Kept | Refusal | null> {
    if (first.outcome !== 'authorized') return null;
    const agent = await requiredAgent(transaction, idOrName);
    const permission = this.permissions.of(agent, request, transaction.now);
    const isAllowed = permission.refusal === null && permission.requirement === null;
    return isAllowed ? null : this.answer(transaction, agent, request, permission);
  }
}

async function requiredAgent(transaction: LedgerTransaction, idOrName: string): Promise<Agent> {
  const agent = await findAgent(transaction, idOrName);
  const { caller } = transaction;
  // Who may not see agents learns no names from the answer.
  if (agent !== undefined || !caller.grants.has('read')) requireActsAs(caller, agent?.id);
  return found(agent, 'agent');
}

function recordRefused(
  transaction: LedgerTransaction,
  asked: AskedExecution,
  refusal: DomainError,
  policySet: string,
): Refusal {
  const reason = refusal.extras.reason ?? null;
  const denied = {
    outcome: 'denied',
    ...asked,
    reason,
    failureReason: refusal.message,
    completedAt: transaction.now,
  } as const;
  const note = decidedNote(asked, 'execution.denied', policySet);
  transaction.insert(EXECUTION, denied, { ...note, outcome: 'denied', reason });
  return new Refusal(refusal);
}
