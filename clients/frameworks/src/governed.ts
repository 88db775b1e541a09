import type {
  ApprovalPendingError,
  Execution,
  GovernanceClient,
  GovernanceError,
  GuardRequest,
  OnBehalfOf,
  ResultNotReportedError,
} from 'agent-governance-client';
import { AsyncLocalStorage } from 'node:async_hooks';

/** The request to the policies about a tool call. */
export interface ToolRequest {
  readonly action: string;
  readonly resourceType: string;
  readonly resourceId: string;
  /** JSON Pointers to arguments that the service must not keep, in addition to those that it knows by their names. */
  readonly secret?: string[];
}

/** @template Context the value that the framework passes along with a call */
export interface GovernedOptions<Context = unknown> {
  /** Id or name of the agent. Default: the agent that the key is bound to. */
  readonly agent?: string;
  /**
   * Returns the request about a call. Default: the tool's name as the action, and a resource of the type `tool` with
   * that name.
   */
  readonly requestOf?: (tool: string, input: Record<string, unknown>) => ToolRequest;
  /** The principal for whom the agent acts. */
  readonly onBehalfOf?: OnBehalfOf | ((context: Context) => OnBehalfOf | undefined);
  /** The conversation or task that a call is part of: the same when it is repeated after its approval. */
  readonly run?: string | ((context: Context) => string | undefined);
  /**
   * The system that is shown the authorisation, one of the service's `PERMIT_AUDIENCES`: `currentPermit` returns a
   * token for it.
   */
  readonly permit?: string;
  /** Seconds that a call waits for its approval. Default: 0, so the model learns at once that it is pending. */
  readonly wait?: number;
}

const permits = new AsyncLocalStorage<string | undefined>();

/**
 * Returns, within a tool that runs, the permit for its call, which the tool sends to the system that it acts on. After
 * a pause the permit may have expired. Undefined if there is none.
 */
export function currentPermit(): string | undefined {
  return permits.getStore();
}

/** The tool did not run here. The message is for the model: what was refused, why, and what would change that. */
export class NotPermittedError extends Error {
  override readonly name = 'NotPermittedError';

  constructor(
    message: string,
    /** True if the call only waits for an approval: the same call succeeds once it is approved. */
    readonly isPending: boolean,
    cause: unknown,
    /** Id of the decision that the call waits for; null if it does not wait. */
    readonly decisionId: string | null = null,
  ) {
    super(message, { cause });
  }
}

/** The call of a tool that the policies check. */
export interface RequestedCall<Context> {
  readonly tool: string;
  readonly input: unknown;
  readonly context: Context;
}

/** One call of a tool. */
export interface ToolCall<Result, Context> extends RequestedCall<Context> {
  /** Runs the tool with the recorded input: the framework's own may have changed while the call waited. */
  readonly run: (input: unknown) => Result | Promise<Result>;
  /** The framework's signal: once it is aborted, the call waits no longer, and does not begin. */
  readonly signal: AbortSignal | undefined;
  /**
   * True if the thrown value only pauses the call: the framework repeats the call, which continues under the same
   * execution.
   */
  readonly isPause?: (thrown: unknown) => boolean;
}

/** Outcomes of an execution that no handler of the service has begun. */
const NOT_BEGUN: ReadonlySet<Execution['outcome']> = new Set([
  ...(['pending_approval', 'approved', 'authorized', 'rejected', 'expired', 'cancelled', 'denied'] as const),
]);

/**
 * Runs the call if it is authorised, and reports it.
 * @throws NotPermittedError if it is not authorised; the reason of `signal`; ResultNotReportedError; errors of `run`.
 */
export async function governedRun<Result, Context>(
  governance: GovernanceClient,
  options: GovernedOptions<Context>,
  call: ToolCall<Result, Context>,
): Promise<Result> {
  return carryOut(governance, await waitForPermission(governance, options, call), call);
}

/** Waits for the execution under which the call may run. @throws NotPermittedError; the reason of `signal`. */
export async function waitForPermission<Context>(
  governance: GovernanceClient,
  options: GovernedOptions<Context>,
  { signal, ...call }: RequestedCall<Context> & Pick<ToolCall<unknown, Context>, 'signal'>,
): Promise<Execution> {
  const waitOptions = { wait: options.wait ?? 0, ...(signal === undefined ? {} : { signal }) };
  try {
    return await governance.authorize(requestOf(options, call), waitOptions);
  } catch (error) {
    throw isGovernanceError(error) ? refusal(call.tool, error) : error;
  }
}

/**
 * Returns the execution under which a paused call continues. Meanwhile the execution may have been closed, or the agent
 * suspended.
 * @throws NotPermittedError unless it is still authorised.
 */
export async function continueExecution(
  governance: GovernanceClient,
  { id, permit }: Execution,
  tool: string,
): Promise<Execution> {
  const lookup = governance.get('/api/v1/executions/{id}', { path: { id } });
  const execution = await lookup.catch((error: unknown) => {
    throw isGovernanceError(error) ? continuationError(tool, error.explained(), error) : error;
  });
  // Only the answer that authorised the execution contains the permit.
  if (execution.outcome === 'authorized') return { ...execution, ...(permit !== undefined && { permit }) };
  throw continuationError(tool, `Its execution ${id} is over: ${execution.outcome}.`, execution);
}

function continuationError(tool: string, reason: string, cause: unknown): NotPermittedError {
  return new NotPermittedError(`${tool} was paused, and did not go on. ${reason}`, false, cause);
}

/** Carries out an authorised call and reports it. @throws like `governedRun`. */
export async function carryOut<Result>(
  governance: GovernanceClient,
  execution: Execution,
  { tool, input, run, signal, isPause }: ToolCall<Result, unknown>,
): Promise<Result> {
  const call = { hasRun: false };
  const runOnce = (): Result | Promise<Result> => {
    call.hasRun = true;
    return permits.run(execution.permit, () => run(inputOf(execution, input)));
  };
  try {
    return await governance.carryOut(execution, runOnce, { signal, isPause });
  } catch (error) {
    throw call.hasRun || !isGovernanceError(error) ? error : refusal(tool, error);
  }
}

function refusal(tool: string, error: GovernanceError): NotPermittedError {
  if (error.name === 'OutcomeUnknownError') return unknownOutcome(tool, error);
  if (error.code === 'EXECUTION_FAILED') {
    return new NotPermittedError(`The service ran ${tool} itself, and that failed. ${error.message}`, false, error);
  }
  const isPending = error.code === 'APPROVAL_PENDING';
  const advice = isPending ? ' Once it is approved, call the tool again with exactly the same input.' : '';
  const { decisionId = null } = (error as Partial<ApprovalPendingError>).execution ?? {};
  return new NotPermittedError(`${tool} did not run. ${error.explained()}${advice}`, isPending, error, decisionId);
}

/** True if a call waits for its approval by itself. */
export function waits({ wait = 0 }: Pick<GovernedOptions, 'wait'>): boolean {
  return wait > 0;
}

/**
 * True if a framework should stop and wait for people before it calls a tool, because the call needs an approval that
 * is not given yet. The approval is requested, so that reviewers see it. A refused call needs no approval: its error
 * explains the refusal.
 * @throws NotPermittedError if a handler of the service has carried the call out, or may have: the tool would do it a
 *   second time.
 */
export async function needsApproval<Context>(
  governance: GovernanceClient,
  options: GovernedOptions<Context>,
  call: RequestedCall<Context>,
): Promise<boolean> {
  try {
    const { permit: _, ...requestBody } = requestOf(options, call);
    const { agent = (await governance.get('/api/v1/me')).agentId ?? '', ...request } = requestBody;
    const { effect } = await governance
      .post('/api/v1/policies/evaluate', { body: { agent, ...request } })
      .then(oneAnswer);
    if (effect !== 'require_approval') return false;
    const execution = await requestExecution(governance, agent, call.tool, request);
    if (execution.outcome === 'authorized') {
      // The policies have changed in between. The call itself requests its own authorisation.
      await governance.report(execution, { error: 'This request only checked whether the call needs an approval.' });
    }
    return execution.outcome === 'pending_approval';
  } catch (error) {
    if (isGovernanceError(error)) return false;
    throw error;
  }
}

/**
 * Requests the execution of a call. Policies that have changed since the evaluation may allow it, so that a handler of
 * the service runs.
 */
async function requestExecution(
  governance: GovernanceClient,
  agent: string,
  tool: string,
  request: Omit<CallRequest, 'agent' | 'permit'>,
): Promise<Execution> {
  const response = governance.post('/api/v1/agents/{id}/execute', { path: { id: agent }, body: request });
  const execution = await response.catch((error: unknown) => {
    throw isGovernanceError(error) && error.isOutcomeUnknown ? unknownOutcome(tool, error) : error;
  });
  const { id, outcome } = execution;
  if (NOT_BEGUN.has(outcome)) return execution;
  const text = `The service has carried ${tool} out itself, or may have: the execution ${id} is ${outcome}. Do not call it again.`;
  throw new NotPermittedError(text, false, execution);
}

function unknownOutcome(tool: string, error: GovernanceError): NotPermittedError {
  const text = `It is not known whether ${tool} was carried out: do not call it again before somebody has looked. ${error.explained()}`;
  return new NotPermittedError(text, false, error);
}

type CallRequest = GuardRequest & { readonly parameters: Record<string, unknown> };

function requestOf<Context>(
  { agent, requestOf: requestMapping = byName, ...members }: GovernedOptions<Context>,
  { tool, input, context }: RequestedCall<Context>,
): CallRequest {
  const parameters = parametersOf(input);
  const onBehalfOf = typeof members.onBehalfOf === 'function' ? members.onBehalfOf(context) : members.onBehalfOf;
  const run = typeof members.run === 'function' ? members.run(context) : members.run;
  return {
    ...requestMapping(tool, parameters),
    parameters,
    ...(agent === undefined ? {} : { agent }),
    ...(onBehalfOf === undefined ? {} : { onBehalfOf }),
    ...(run === undefined ? {} : { run }),
    ...(members.permit === undefined ? {} : { permit: members.permit }),
  };
}

function byName(tool: string): ToolRequest {
  return { action: tool, resourceType: 'tool', resourceId: tool };
}

/**
 * A value that is not an object becomes a member of its own, so that all of it is recorded and covered by the approval.
 */
function parametersOf(input: unknown): Record<string, unknown> {
  if (isObject(input)) return input;
  return input === undefined ? {} : { input };
}

/**
 * Returns the recorded input of the tool. It is the reverse of `parametersOf`, and `callInput` shows which form the
 * input had.
 */
function inputOf({ parameters }: Execution, callInput: unknown): unknown {
  if (callInput === undefined) return undefined;
  return isObject(callInput) ? parameters : parameters['input'];
}

function isObject(input: unknown): input is Record<string, unknown> {
  return typeof input === 'object' && input !== null && !Array.isArray(input);
}

function oneAnswer<Answer extends object>(answer: Answer): Extract<Answer, { effect: unknown }> {
  if (!('effect' in answer)) throw new TypeError('The answer is not that to one question.');
  return answer as Extract<Answer, { effect: unknown }>;
}

/**
 * True if the tool ran and the service did not accept the report: the model needs the result, and must not call the
 * tool again.
 */
export function isNotReported(error: unknown): error is ResultNotReportedError {
  return isGovernanceError(error) && error.name === 'ResultNotReportedError';
}

/** Checks the form of the error, since the client may be loaded as both an ES module and a CommonJS module. */
function isGovernanceError(error: unknown): error is GovernanceError {
  return error instanceof Error && 'code' in error && 'explained' in error && typeof error.explained === 'function';
}
