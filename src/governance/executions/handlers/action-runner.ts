import { Injectable, Logger } from '@nestjs/common';
import { Configuration } from '../../../core/config/configuration';
import { ShutdownGuard } from '../../../http/server/shutdown';
import { jsonLength } from '../../../core/json/json-length';
import { type JsonObject, type JsonValue, NotJsonError, toJsonValue } from '../../../core/json/json-value';
import { SYSTEM_CALLER } from '../../../ledger/kinds/caller';
import { RecordReader } from '../../../ledger/reading/record-reader';
import { reservedFaults } from '../../secrets/replacement';
import { AGENT } from '../../agents/agent.entity';
import { ActiveStops } from '../../stops/active-stops';
import { coversAction, type Stop, stopCovering } from '../../stops/stop.entity';
import { type ActionContext, ActionFailure, type ActionHandlerMethod } from './action-handlers';

/** Milliseconds that handlers may continue after shutdown begins; their callers wait a little longer. */
const GRACE = 5_000;

/** Characters above which parameters need room: their request may be long answered while the handler holds them. */
const LARGE = 16 * 1024;
/** Most characters of the large parameters of all running handlers. */
const MAX_LARGE = 32 * 1024 * 1024;

type Stoppable = Pick<ActionContext, 'agentId' | 'action'>;

export interface ActionOutcome {
  readonly outcome: 'executed' | 'failed';
  /** Result; null unless it was executed. */
  readonly result: JsonValue;
  readonly failureReason: string | null;
  /** Code of the `ActionFailure`; null without one. */
  readonly failureCode: string | null;
}

/** Runs action handlers, each until it ends, its time is up, the service stops, or a stop of any process covers it. */
@Injectable()
export class ActionRunner {
  private readonly logger = new Logger(ActionRunner.name);
  private readonly controllers = new Map<AbortController, Omit<ActionContext, 'signal'>>();
  /** Characters of the large parameters of running handlers. */
  private large = 0;
  private readonly stopped = new Error('The service stops.');
  private readonly end = new AbortController();

  constructor(
    private readonly configuration: Configuration,
    private readonly stops: ActiveStops,
    private readonly records: RecordReader,
    gate: ShutdownGuard,
  ) {
    stops.onAdded((added) => {
      for (const [controller, stoppable] of this.controllers) void this.endCovered(controller, stoppable, added);
    });
    gate.signal.addEventListener('abort', () => setTimeout(() => this.stop(), GRACE).unref(), { once: true });
  }

  /** Signal that is aborted when the service stops: from then on, no handler is run or waited for. */
  get stopping(): AbortSignal {
    return this.end.signal;
  }

  /** False if the parameters are large and the handlers that run hold many such ones. */
  hasRoomFor(parameters: JsonObject): boolean {
    return largeLength(parameters) === 0 || this.large < MAX_LARGE;
  }

  /**
   * Returns the failure of an authorised action that a stop covers before its handler begins; null if the handler may
   * begin.
   */
  async stopOf({ agentId, action }: Stoppable, stops = this.stops.active): Promise<ActionFailure | null> {
    const near = stops.filter((stop) => coversAction(stop, action) && (stop.agentId ?? agentId) === agentId);
    if (near.length === 0) return null;
    const agent = await this.records.find(AGENT, agentId, SYSTEM_CALLER).catch(() => undefined);
    // If the roles cannot be read, the action is stopped, which does the least harm.
    const stop = agent === undefined ? near[0] : stopCovering(near, { agentId, roles: agent.roles }, action);
    return stop === undefined ? null : new ActionFailure(`The stop ${stop.id} ended this action.`, 'stopped');
  }

  /** Runs a handler; null if the service stops before the handler ends. Never rejects. */
  async run(handler: ActionHandlerMethod, request: Omit<ActionContext, 'signal'>): Promise<ActionOutcome | null> {
    if (this.stopping.aborted) return null;
    const controller = new AbortController();
    const { signal } = controller;
    const { actionTimeout } = this.configuration;
    const late = new ActionFailure(`The handler of "${request.action}" did not finish within ${actionTimeout} ms.`);
    const timer = setTimeout(() => controller.abort(late), actionTimeout);
    this.controllers.set(controller, request);
    const large = largeLength(request.parameters);
    this.large += large;
    // Another stop may have been made while the earlier ones were checked.
    void this.endCovered(controller, request, this.stops.active);
    try {
      return this.executed(await Promise.race([call(handler, { ...request, signal }), abortOf(signal)]));
    } catch (error) {
      return error === this.stopped ? null : this.failed(error, request);
    } finally {
      clearTimeout(timer);
      this.controllers.delete(controller);
      this.large -= large;
    }
  }

  /** Gives up on every handler still running. */
  stop(): void {
    this.end.abort();
    for (const controller of this.controllers.keys()) controller.abort(this.stopped);
  }

  private async endCovered(controller: AbortController, stoppable: Stoppable, stops: readonly Stop[]): Promise<void> {
    const failure = await this.stopOf(stoppable, stops);
    if (failure !== null) controller.abort(failure);
  }

  private executed(returned: unknown): ActionOutcome {
    const result = toJsonValue(returned, 'result');
    const [fault] = reservedFaults(result);
    if (fault !== undefined) throw new NotJsonError(`result${fault.at}`, fault.message);
    const { bodyLimit } = this.configuration;
    if (Buffer.byteLength(JSON.stringify(result)) > bodyLimit)
      throw new NotJsonError('result', `exceeds ${bodyLimit} bytes`);
    return { outcome: 'executed', result, failureReason: null, failureCode: null };
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

export function failedBy({ message, code }: ActionFailure): ActionOutcome {
  return { outcome: 'failed', result: null, failureReason: storable(message), failureCode: code };
}

/** Returns the characters of parameters; 0 if they are not large. */
function largeLength(parameters: JsonObject): number {
  const length = jsonLength(parameters);
  return length > LARGE ? length : 0;
}

/** Calls a handler. An error before it returns a promise becomes a rejection. */
async function call(handler: ActionHandlerMethod, context: ActionContext): Promise<unknown> {
  return handler(context);
}

/** Replaces NUL and lone surrogates, which databases cannot store in a text. */
export function storable(text: string): string {
  return text.replace(/\0|\p{Surrogate}/gu, '\uFFFD');
}

function abortOf(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
}
