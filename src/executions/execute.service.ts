import { Injectable } from '@nestjs/common';
import type { BeforeApplicationShutdown } from '@nestjs/common';
import { agentLookup, findAgent } from '../agents/find-agent';
import { Configuration } from '../config/configuration';
import { Database } from '../database/database';
import { ENTITY } from '../entities/entity.kind';
import { notFound, type DomainError } from '../errors/domain-error';
import type { JsonObject } from '../json/json-value';
import { withoutKey, type Caller } from '../ledger/caller';
import { Refusal } from '../ledger/ledger-transaction';
import type { LedgerTransaction } from '../ledger/ledger-transaction';
import { LedgerService } from '../ledger/ledger.service';
import { existence, type Lookup } from '../ledger/lookup';
import { PolicyBook } from '../policies/policy-book';
import { ExecutionCompletions } from './execution-completions';
import { noteOf } from './execution-note';
import { ExecutionSettlement } from './execution-settlement';
import type { Execution } from './execution.entity';
import { EXECUTION } from './execution.kind';
import type { ActionContext } from './handlers/action-handler.decorator';
import { ActionHandlers } from './handlers/action-handlers';
import { ActionRunner } from './handlers/action-runner';
import { permissionFor } from './permission';
import type { RequestedAction } from './permission';

/** An action an agent wants to use on a resource. */
export interface ActionRequest extends RequestedAction {
  readonly parameters: JsonObject;
}

/** Authorises what agents want to do, and has it carried out by the action's handler when there is one. */
@Injectable()
export class ExecuteService implements BeforeApplicationShutdown {
  constructor(
    private readonly ledger: LedgerService,
    private readonly policies: PolicyBook,
    private readonly handlers: ActionHandlers,
    private readonly runner: ActionRunner,
    private readonly completions: ExecutionCompletions,
    private readonly settlement: ExecutionSettlement,
    private readonly configuration: Configuration,
    private readonly database: Database,
  ) {}

  /** @throws NOT_FOUND; PERMISSION_DENIED and POLICY_DENIED, with the refused execution recorded. */
  async execute(caller: Caller, agent: string, request: ActionRequest): Promise<Execution> {
    const handler = this.handlers.find(request.action);
    const execution = await this.ledger
      .expecting(agentLookup(agent), ...entityLookups(request.resourceId))
      .write(
        caller,
        (transaction) => this.authorise(transaction, agent, request, handler === undefined ? 'authorized' : 'running'),
        { beforeReplay: (transaction, first) => this.refusalOfReplay(transaction, agent, request, first) },
      );
    // Whoever repeats the request gets the answer of the first one, which runs the handler or has run it.
    if (caller.idempotency?.isReplayed === true) return this.settlement.of(execution);
    if (handler === undefined) return execution;
    const executor = withoutKey(caller);
    const outcome = await this.runner.run(handler, contextOf(executor, execution));
    return outcome === null ? execution : this.completions.write({ caller: executor, execution, outcome });
  }

  /** Requests that wait for a handler are answered with what is on disk: the execution is `running`. */
  async beforeApplicationShutdown(): Promise<void> {
    this.runner.stop();
    await this.completions.stop();
  }

  private async authorise(
    transaction: LedgerTransaction,
    idOrName: string,
    request: ActionRequest,
    outcome: 'authorized' | 'running',
  ): Promise<Execution | Refusal> {
    const { execution, refusal } = await this.ask(transaction, idOrName, request);
    if (refusal !== null) return recordRefused(transaction, execution, refusal);
    const runBy = outcome === 'running' ? this.database.processId : '';
    const authorised = { ...execution, outcome, failureReason: null, completedAt: null, runBy };
    return transaction.insert(EXECUTION, authorised, noteOf(execution, 'execution.authorized'));
  }

  /** Who was told "go" before acts on what is told now, so it is told so only while a new request would be. */
  private async refusalOfReplay(
    transaction: LedgerTransaction,
    idOrName: string,
    request: ActionRequest,
    first: Execution,
  ): Promise<Refusal | null> {
    if (first.outcome !== 'authorized') return null;
    const { execution, refusal } = await this.ask(transaction, idOrName, request);
    return refusal === null ? null : recordRefused(transaction, execution, refusal);
  }

  private async ask(transaction: LedgerTransaction, idOrName: string, request: ActionRequest): Promise<Asked> {
    const agent = await findAgent(transaction, idOrName);
    if (agent === undefined) throw notFound('agent');
    const { refusal, policies } = permissionFor(
      agent,
      request,
      (asked) => this.policies.evaluate(asked),
      this.configuration.policyDefaultEffect,
    );
    const execution = {
      id: transaction.newId(EXECUTION),
      agentId: agent.id,
      agentName: agent.name,
      action: request.action,
      resourceType: request.resourceType,
      resourceId: request.resourceId,
      parameters: request.parameters,
      policies,
      decisionId: null,
      result: null,
      createdAt: transaction.now,
      entityId: await entityIdOf(transaction, request.resourceId),
    };
    return { execution, refusal };
  }
}

/** An execution as it is asked for, and why it is refused; null when it is not. */
interface Asked {
  readonly execution: Omit<Execution, 'outcome' | 'failureReason' | 'completedAt' | 'runBy' | 'createdSequence'>;
  readonly refusal: DomainError | null;
}

function recordRefused(transaction: LedgerTransaction, execution: Asked['execution'], refusal: DomainError): Refusal {
  const denied = {
    ...execution,
    runBy: '',
    outcome: 'denied',
    failureReason: refusal.message,
    completedAt: transaction.now,
  } as const;
  const note = noteOf(execution, 'execution.denied');
  transaction.insert(EXECUTION, denied, { ...note, outcome: 'denied', reason: refusal.extras.reason ?? null });
  return new Refusal(refusal);
}

/** The entity whose id is the resource, or the last segment of its path. */
async function entityIdOf(transaction: LedgerTransaction, resourceId: string): Promise<string | null> {
  const [lookup] = entityLookups(resourceId);
  return lookup !== undefined && (await transaction.exists(ENTITY, lookup.value)) ? lookup.value : null;
}

function entityLookups(resourceId: string): Lookup[] {
  const id = resourceId.slice(resourceId.lastIndexOf('/') + 1);
  return id.startsWith(`${ENTITY.idPrefix}_`) ? [existence(ENTITY, id)] : [];
}

/** The handler gets a copy of the parameters: what it does to them must not reach the record. */
function contextOf(caller: Caller, execution: Execution): Omit<ActionContext, 'signal'> {
  const { id: executionId, agentId, agentName, action, resourceType, resourceId } = execution;
  const parameters = structuredClone(execution.parameters);
  return { caller, executionId, agentId, agentName, action, resourceType, resourceId, parameters };
}
