import { Injectable, type BeforeApplicationShutdown } from '@nestjs/common';
import { Database } from '../database/database';
import { unavailable } from '../errors/domain-error';
import { withoutKey, type Caller } from '../ledger/caller';
import { ExecutionCompletions } from './execution-completions';
import { ExecutionSettlement } from './execution-settlement';
import type { Execution } from './execution.entity';
import type { ActionContext } from './handlers/action-handler.decorator';
import { ActionHandlers } from './handlers/action-handlers';
import { type ActionOutcome, ActionRunner } from './handlers/action-runner';

/** The state of an execution that may start. */
export interface ExecutionStart {
  readonly outcome: 'authorized' | 'running';
  /** This process, if it runs the action's handler; empty if the caller carries the action out. */
  readonly runBy: string;
}

const NOT_BEGUN: ActionOutcome = {
  outcome: 'failed',
  result: null,
  failureReason: 'The action was not begun: its authorisation was confirmed too late.',
  failureCode: null,
};

/** Has what was authorised carried out by the action's handler, if there is one. */
@Injectable()
export class ExecutionRunner implements BeforeApplicationShutdown {
  constructor(
    private readonly handlers: ActionHandlers,
    private readonly runner: ActionRunner,
    private readonly completions: ExecutionCompletions,
    private readonly settlement: ExecutionSettlement,
    private readonly database: Database,
  ) {}

  /** @throws UNAVAILABLE while other processes may consider this one ended. */
  startOf(action: string): ExecutionStart {
    if (this.handlers.find(action) === undefined) return { outcome: 'authorized', runBy: '' };
    const { runner } = this.database;
    if (runner === null) throw unavailable('This process has to renew its lease before it runs an action.');
    return { outcome: 'running', runBy: runner };
  }

  /** Runs the handler of an execution that the caller's request has just started, and returns the result. */
  async carriedOut(caller: Caller, execution: Execution): Promise<Execution> {
    // A repeated request gets the answer of the first one, which runs or has run the handler.
    if (caller.idempotency?.isReplayed === true) return this.settlement.of(execution);
    const handler = execution.outcome === 'running' ? this.handlers.find(execution.action) : undefined;
    if (handler === undefined) return execution;
    const executor = withoutKey(caller);
    // The answer of the commit may have come late: if the lease has lapsed since, others may have considered it ended.
    const mayBegin = execution.runBy === this.database.runner;
    const outcome = mayBegin ? await this.runner.run(handler, contextOf(executor, execution)) : NOT_BEGUN;
    return outcome === null ? execution : this.completions.write({ caller: executor, execution, outcome });
  }

  /** Requests that wait for a handler are answered with what is on disk: the execution is `running`. */
  async beforeApplicationShutdown(): Promise<void> {
    this.runner.stop();
    await this.completions.stop();
  }
}

/** The handler gets a copy of the parameters: its changes to them must not reach the record. */
function contextOf(caller: Caller, execution: Execution): Omit<ActionContext, 'signal'> {
  const { id: executionId, agentId, agentName, action, resourceType, resourceId } = execution;
  const parameters = structuredClone(execution.parameters);
  return { caller, executionId, agentId, agentName, action, resourceType, resourceId, parameters };
}
