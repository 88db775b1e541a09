import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { Configuration } from '../../core/config/configuration';
import { Database } from '../../ledger/database/database';
import { unavailable } from '../../core/errors/domain-error';
import { RecordWaiter } from '../../http/reading/record-waiter';
import type { JsonObject } from '../../core/json/json-value';
import { SecretRedaction } from '../secrets/secret-redaction';
import { type Caller, SYSTEM_CALLER, withoutKey } from '../../ledger/kinds/caller';
import { RecordReader } from '../../ledger/reading/record-reader';
import { ExecutionCompletions } from './execution-completions';
import { type Execution, EXECUTION } from './execution.entity';
import { type ActionContext, ActionHandlers } from './handlers/action-handlers';
import { type ActionOutcome, ActionRunner, failedBy } from './handlers/action-runner';

/**
 * Seconds beyond ACTION_TIMEOUT for which a request waits for an execution that another request runs. If the process
 * that runs it has ended, its lease has lapsed by then, and the execution is marked as interrupted.
 */
const MARGIN = 90;

const NOT_BEGUN: ActionOutcome = {
  outcome: 'failed',
  result: null,
  failureReason: 'The action was not begun: its authorisation was confirmed too late.',
  failureCode: null,
};

/** Parts of a request that its handler needs and that are not stored. */
interface UnrecordedParts {
  /** Parameters as they were sent; undefined if they are recorded unchanged. */
  readonly sentParameters?: JsonObject | undefined;
  /** Pointers to secrets of the result, in addition to those of SECRET_PARAMETERS. */
  readonly secret?: readonly string[] | undefined;
}

/** Runs the handler of an authorised action, if there is one. */
@Injectable()
export class ExecutionRunner implements BeforeApplicationShutdown {
  constructor(
    private readonly handlers: ActionHandlers,
    private readonly runner: ActionRunner,
    private readonly completions: ExecutionCompletions,
    private readonly database: Database,
    private readonly reader: RecordReader,
    private readonly waits: RecordWaiter,
    private readonly configuration: Configuration,
    private readonly secrets: SecretRedaction,
  ) {}

  /**
   * Returns the initial state of an execution.
   * @throws UNAVAILABLE while other processes may consider this one ended, or handlers hold many large parameters
   */
  firstState({ action, parameters }: Pick<Execution, 'action' | 'parameters'>): Pick<Execution, 'outcome' | 'runBy'> {
    if (this.handlers.find(action) === undefined) return { outcome: 'authorized', runBy: '' };
    if (!this.runner.hasRoomFor(parameters)) throw unavailable('Many actions with large parameters are being run.');
    const { runner } = this.database;
    if (runner === null) throw unavailable('This process has to renew its lease before it runs an action.');
    return { outcome: 'running', runBy: runner };
  }

  /** True if a handler of the service carries out the action. */
  hasHandler(action: string): boolean {
    return this.handlers.find(action) !== undefined;
  }

  /** Runs the handler of an execution that the caller's request has just started, and returns the result. */
  async carryOut(caller: Caller, execution: Execution, unrecorded: UnrecordedParts = {}): Promise<Execution> {
    // A repeated request gets the response of the first one, which runs or has run the handler.
    if (caller.idempotency?.isReplayed === true) return this.settled(execution);
    const handler = execution.outcome === 'running' ? this.handlers.find(execution.action) : undefined;
    if (handler === undefined) return execution;
    const executor = withoutKey(caller);
    const stopped = await this.runner.stopOf(execution);
    // The response to the commit may have come late: if the lease has lapsed since, another process may have marked the
    // execution as interrupted.
    const mayBegin = execution.runBy === this.database.runner;
    const { sentParameters: parameters = execution.parameters, secret } = unrecorded;
    const context = contextOf(executor, { ...execution, parameters });
    const begin = (): Promise<ActionOutcome | null> => this.runner.run(handler, context);
    const notBegun = stopped === null ? NOT_BEGUN : failedBy(stopped);
    const outcome = mayBegin && stopped === null ? await begin() : notBegun;
    if (outcome === null) return execution;
    const result = this.secrets.redactResult(execution.agentId, outcome.result, secret);
    return this.completions.write({ caller: executor, execution, outcome: { ...outcome, result } });
  }

  /** Ends the wait for handlers: requests get the state on disk, in which the execution is `running`. */
  async beforeApplicationShutdown(): Promise<void> {
    this.runner.stop();
    await this.completions.stop();
  }

  /**
   * Waits until an execution whose handler another request runs, in any process, is no longer running, and returns it.
   * Returns its current state if the service stops first, or the handler takes far too long.
   */
  private async settled(execution: Execution): Promise<Execution> {
    if (execution.outcome !== 'running') return execution;
    return this.waits.settled({
      id: execution.id,
      seconds: this.configuration.actionTimeout / 1000 + MARGIN,
      signal: this.runner.stopping,
      read: async () => (await this.reader.find(EXECUTION, execution.id, SYSTEM_CALLER)) ?? execution,
      isOpen: ({ outcome }) => outcome === 'running',
    });
  }
}

/** Returns the context of a handler with copies, so that the handler's changes do not reach the record. */
function contextOf(caller: Caller, execution: Execution): Omit<ActionContext, 'signal'> {
  const { id: executionId, agentId, agentName, action, resourceType, resourceId, run } = execution;
  const { parameters, onBehalfOf } = structuredClone(execution);
  return { caller, executionId, agentId, agentName, action, resourceType, resourceId, parameters, onBehalfOf, run };
}
