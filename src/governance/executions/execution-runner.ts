import { type BeforeApplicationShutdown, Injectable, Logger } from '@nestjs/common';
import { Configuration } from '../../core/config/configuration';
import { Database } from '../../ledger/database/database';
import { unavailable } from '../../core/errors/domain-error';
import { Waits } from '../../http/waiting/waits';
import { type Caller, SYSTEM_CALLER, withoutKey } from '../../ledger/caller';
import { RecordReader } from '../../ledger/reading/record-reader';
import { ExecutionCompletions } from './execution-completions';
import { type Execution, EXECUTION } from './execution.entity';
import { ShutdownGuard } from '../../http/shutdown/shutdown';
import { NotJsonError, toJsonValue } from '../../core/json/json-value';
import { AGENT } from '../agents/agent.entity';
import { ActiveStops } from '../stops/stops.service';
import { coversAction, type Stop, stopCovering } from '../stops/stop.entity';
import {
  type ActionContext,
  ActionFailure,
  ActionHandlers,
  type ActionHandlerMethod,
  type ActionOutcome,
  storable,
} from './handlers/action-handlers';

/**
 * Seconds beyond ACTION_TIMEOUT: by then, the executions of a process that has ended are marked, as its lease has
 * lapsed.
 */
const MARGIN = 90;

/** Milliseconds that handlers may continue after shutdown begins; their callers are waited for a little longer. */
const GRACE = 5_000;

type Stoppable = Pick<ActionContext, 'agentId' | 'action'>;

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

/**
 * Has what was authorised carried out by the action's handler, if there is one: until it ends, its time is up, a stop made in any
 * process covers it or the service stops.
 */
@Injectable()
export class ExecutionRunner implements BeforeApplicationShutdown {
  private readonly logger = new Logger(ExecutionRunner.name);
  private readonly controllers = new Map<AbortController, Omit<ActionContext, 'signal'>>();
  private readonly stopped = new Error('The service stops.');
  private readonly end = new AbortController();

  constructor(
    private readonly handlers: ActionHandlers,
    private readonly completions: ExecutionCompletions,
    private readonly database: Database,
    private readonly records: RecordReader,
    private readonly stops: ActiveStops,
    private readonly waits: Waits,
    private readonly configuration: Configuration,
    gate: ShutdownGuard,
  ) {
    stops.onAdded((added) => {
      for (const [controller, asked] of this.controllers) void this.endCovered(controller, asked, added);
    });
    gate.signal.addEventListener('abort', () => setTimeout(() => this.stop(), GRACE).unref(), { once: true });
  }

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
    if (caller.idempotency?.isReplayed === true) return this.settled(execution);
    const handler = execution.outcome === 'running' ? this.handlers.find(execution.action) : undefined;
    if (handler === undefined) return execution;
    const executor = withoutKey(caller);
    const stopped = await this.stopOf(execution);
    // The answer of the commit may have come late: if the lease has lapsed since, another process may have marked the
    // execution as interrupted.
    const mayBegin = execution.runBy === this.database.runner;
    const begin = (): Promise<ActionOutcome | null> => this.run(handler, contextOf(executor, execution));
    const notBegun = stopped === null ? NOT_BEGUN : failedBy(stopped);
    const outcome = mayBegin && stopped === null ? await begin() : notBegun;
    return outcome === null ? execution : this.completions.write({ caller: executor, execution, outcome });
  }

  /** Requests that wait for a handler are answered with what is on disk: the execution is `running`. */
  async beforeApplicationShutdown(): Promise<void> {
    this.stop();
    await this.completions.stop();
  }

  /**
   * An execution whose handler another request runs, in this process or in another, once it has stopped running; in its
   * current state if the service stops before, or it takes far too long.
   */
  private async settled(execution: Execution): Promise<Execution> {
    if (execution.outcome !== 'running') return execution;
    return this.waits.settled({
      seconds: this.configuration.actionTimeout / 1000 + MARGIN,
      leaving: this.end.signal,
      read: async () => (await this.records.find(EXECUTION, execution.id, SYSTEM_CALLER)) ?? execution,
      isOpen: ({ outcome }) => outcome === 'running',
    });
  }

  /** The failure of an action that was authorised, and stopped before its handler began; null if it may begin. */
  private async stopOf({ agentId, action }: Stoppable, stops = this.stops.active): Promise<ActionFailure | null> {
    const near = stops.filter((stop) => coversAction(stop, action) && (stop.agentId ?? agentId) === agentId);
    if (near.length === 0) return null;
    const agent = await this.records.find(AGENT, agentId, SYSTEM_CALLER).catch(() => undefined);
    // Where the roles cannot be read the action is stopped: that does the least harm.
    const stop = agent === undefined ? near[0] : stopCovering(near, { agentId, roles: agent.roles }, action);
    return stop === undefined ? null : new ActionFailure(`The stop ${stop.id} ended this action.`, 'stopped');
  }

  /** Null if the service stops before the handler ends. Never rejects. */
  private async run(
    handler: ActionHandlerMethod,
    request: Omit<ActionContext, 'signal'>,
  ): Promise<ActionOutcome | null> {
    if (this.end.signal.aborted) return null;
    const controller = new AbortController();
    const { signal } = controller;
    const timer = this.abortLater(controller, request.action);
    this.controllers.set(controller, request);
    try {
      return this.executed(await Promise.race([call(handler, { ...request, signal }), abortOf(signal)]));
    } catch (error) {
      return error === this.stopped ? null : this.failed(error, request);
    } finally {
      clearTimeout(timer);
      this.controllers.delete(controller);
    }
  }

  /** Gives up on every handler still running. */
  private stop(): void {
    this.end.abort();
    for (const controller of this.controllers.keys()) controller.abort(this.stopped);
  }

  private async endCovered(controller: AbortController, asked: Stoppable, added: readonly Stop[]): Promise<void> {
    const failure = await this.stopOf(asked, added);
    if (failure !== null) controller.abort(failure);
  }

  private abortLater(controller: AbortController, action: string): NodeJS.Timeout {
    const { actionTimeout } = this.configuration;
    const failure = new ActionFailure(`The handler of "${action}" did not finish within ${actionTimeout} ms.`);
    return setTimeout(() => controller.abort(failure), actionTimeout);
  }

  private executed(returned: unknown): ActionOutcome {
    const result = toJsonValue(returned, 'result');
    const { bodyLimit } = this.configuration;
    if (Buffer.byteLength(JSON.stringify(result)) > bodyLimit)
      throw new NotJsonError('result', `exceeds ${bodyLimit} bytes`);
    return { outcome: 'executed', result, failureReason: null };
  }

  private failed(error: unknown, { action, executionId }: Omit<ActionContext, 'signal'>): ActionOutcome {
    if (error instanceof ActionFailure) return failedBy(error);
    this.logger.error({ err: error, action, executionId }, `The handler of "${action}" failed.`);
    const failureReason =
      error instanceof NotJsonError
        ? `The handler of "${action}" returned a value that cannot be stored as JSON: ${error.message}.`
        : `The handler of "${action}" failed; the service's log has the cause under the execution's id.`;
    return { outcome: 'failed', result: null, failureReason, failureCode: null };
  }
}

/** The handler gets copies: its changes to them must not reach the record. */
function contextOf(caller: Caller, execution: Execution): Omit<ActionContext, 'signal'> {
  const { id: executionId, agentId, agentName, action, resourceType, resourceId, run } = execution;
  const { parameters, onBehalfOf } = structuredClone({
    parameters: execution.parameters,
    onBehalfOf: execution.onBehalfOf,
  });
  return { caller, executionId, agentId, agentName, action, resourceType, resourceId, parameters, onBehalfOf, run };
}

function failedBy({ message, code }: ActionFailure): ActionOutcome {
  return { outcome: 'failed', result: null, failureReason: storable(message), failureCode: code };
}

/** An error thrown before the handler returns a promise is a rejection like any other. */
async function call(handler: ActionHandlerMethod, context: ActionContext): Promise<unknown> {
  return handler(context);
}

function abortOf(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
}
