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
}

/** @template Context what the framework passes along with a call */
export interface GovernedOptions<Context = unknown> {
  /** Who acts, by id or name; the agent that the key is bound to unless given. */
  readonly agent?: string;
  /** The tool's name as the action, `tool` and the tool's name as the resource unless given. */
  readonly requestOf?: (tool: string, input: Record<string, unknown>) => ToolRequest;
  /** For whom the agent acts. */
  readonly onBehalfOf?: OnBehalfOf | ((context: Context) => OnBehalfOf | undefined);
  /** The conversation or task that a call is part of: the same when it is repeated after its approval. */
  readonly run?: string | ((context: Context) => string | undefined);
  /** The system that is to see what was authorised, one of the service's `PERMIT_AUDIENCES`: `currentPermit` is a token for it. */
  readonly permit?: string;
  /** Seconds that a call waits for its approval. Default: 0, so the model learns at once that it is pending. */
  readonly wait?: number;
}

const permits = new AsyncLocalStorage<string | undefined>();

/**
 * Within a tool that runs: the permit for its call, to be sent to the system that it acts on; one that went on after a pause may have
 * an expired one. Undefined where there is none.
 */
export function currentPermit(): string | undefined {
  return permits.getStore();
}

/** The tool did not run here. The message is for the model: what was refused, why, and what would change that. */
export class NotPermittedError extends Error {
  override readonly name = 'NotPermittedError';

  constructor(
    message: string,
    /** Whether it only waits for an approval: the same call succeeds once that is given. */
    readonly isPending: boolean,
    cause: unknown,
    /** The decision that it waits for; null if it does not wait. */
    readonly decisionId: string | null = null,
  ) {
    super(message, { cause });
  }
}

/** What is asked about a call of a tool. */
export interface AskedCall<Context> {
  readonly tool: string;
  readonly input: unknown;
  readonly context: Context;
}

/** One call of a tool. */
export interface ToolCall<Result, Context> extends AskedCall<Context> {
  /** Gets the input as it was asked for and is on record: the framework's own may have changed while the call waited. */
  readonly run: (input: unknown) => Result | Promise<Result>;
  /** The framework's: a call that it has given up waits no longer, and does not begin. */
  readonly signal: AbortSignal | undefined;
  /**
   * Whether what was thrown only pauses the call: the framework repeats the call, which continues under the same
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
  return carriedOut(governance, await permitted(governance, options, call), call);
}

/** The execution under which the call may run. @throws NotPermittedError; the reason of `signal`. */
export async function permitted<Context>(
  governance: GovernanceClient,
  options: GovernedOptions<Context>,
  { signal, ...call }: AskedCall<Context> & Pick<ToolCall<unknown, Context>, 'signal'>,
): Promise<Execution> {
  const waiting = { wait: options.wait ?? 0, ...(signal === undefined ? {} : { signal }) };
  try {
    return await governance.authorize(requestOf(options, call), waiting);
  } catch (error) {
    throw isGovernanceError(error) ? refusal(call.tool, error) : error;
  }
}

/**
 * The execution under which a paused call continues. Meanwhile somebody may have closed it, or suspended the agent.
 * @throws NotPermittedError unless it is still authorised.
 */
export async function goingOn(
  governance: GovernanceClient,
  { id, permit }: Execution,
  tool: string,
): Promise<Execution> {
  const looking = governance.get('/api/v1/executions/{id}', { path: { id } });
  const execution = await looking.catch((error: unknown) => {
    throw isGovernanceError(error) ? notGoingOn(tool, error.explained(), error) : error;
  });
  // Only the answer that authorised it has the permit.
  if (execution.outcome === 'authorized') return { ...execution, ...(permit !== undefined && { permit }) };
  throw notGoingOn(tool, `Its execution ${id} is over: ${execution.outcome}.`, execution);
}

function notGoingOn(tool: string, why: string, cause: unknown): NotPermittedError {
  return new NotPermittedError(`${tool} was paused, and did not go on. ${why}`, false, cause);
}

/** The other half of `governedRun`. @throws as that. */
export async function carriedOut<Result>(
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
  const again = isPending ? ' Once it is approved, call the tool again with exactly the same input.' : '';
  const { decisionId = null } = (error as Partial<ApprovalPendingError>).execution ?? {};
  return new NotPermittedError(`${tool} did not run. ${error.explained()}${again}`, isPending, error, decisionId);
}

/** Whether a call waits for its approval by itself. */
export function waits({ wait = 0 }: Pick<GovernedOptions, 'wait'>): boolean {
  return wait > 0;
}

/**
 * Whether a framework should stop and wait for people before it calls a tool: whether the call needs an approval that is not given
 * yet. The request for it is made, so that reviewers see it. A refused call does not need one: its error explains the refusal.
 * @throws NotPermittedError where a handler of the service carried the call out meanwhile, or may have: the call would be a second.
 */
export async function needsApproval<Context>(
  governance: GovernanceClient,
  options: GovernedOptions<Context>,
  call: AskedCall<Context>,
): Promise<boolean> {
  try {
    const { permit: _, ...asking } = requestOf(options, call);
    const { agent = (await governance.get('/api/v1/me')).agentId ?? '', ...request } = asking;
    const { effect } = await governance
      .post('/api/v1/policies/evaluate', { body: { agent, ...request } })
      .then(oneAnswer);
    if (effect !== 'require_approval') return false;
    const asked = await askedFor(governance, agent, call.tool, request);
    if (asked.outcome === 'authorized') {
      // The policies changed in between. The call itself asks for an authorisation of its own.
      await governance.report(asked, { error: 'It was only asked whether the call needs an approval.' });
    }
    return asked.outcome === 'pending_approval';
  } catch (error) {
    if (isGovernanceError(error)) return false;
    throw error;
  }
}

/** The policies may have changed since they were looked at, so that a handler of the service runs. */
async function askedFor(
  governance: GovernanceClient,
  agent: string,
  tool: string,
  request: Omit<AskedRequest, 'agent' | 'permit'>,
): Promise<Execution> {
  const asking = governance.post('/api/v1/agents/{id}/execute', { path: { id: agent }, body: request });
  const execution = await asking.catch((error: unknown) => {
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

type AskedRequest = GuardRequest & { readonly parameters: Record<string, unknown> };

function requestOf<Context>(
  { agent, requestOf: mapped = byName, ...given }: GovernedOptions<Context>,
  { tool, input, context }: AskedCall<Context>,
): AskedRequest {
  const parameters = parametersOf(input);
  const onBehalfOf = typeof given.onBehalfOf === 'function' ? given.onBehalfOf(context) : given.onBehalfOf;
  const run = typeof given.run === 'function' ? given.run(context) : given.run;
  return {
    ...mapped(tool, parameters),
    parameters,
    ...(agent === undefined ? {} : { agent }),
    ...(onBehalfOf === undefined ? {} : { onBehalfOf }),
    ...(run === undefined ? {} : { run }),
    ...(given.permit === undefined ? {} : { permit: given.permit }),
  };
}

function byName(tool: string): ToolRequest {
  return { action: tool, resourceType: 'tool', resourceId: tool };
}

/** A value that is not an object becomes a member of its own, so that all of it is recorded and covered by the approval. */
function parametersOf(input: unknown): Record<string, unknown> {
  if (isObject(input)) return input;
  return input === undefined ? {} : { input };
}

/** The input that the parameters of the execution were made of; `given` says how. */
function inputOf({ parameters }: Execution, given: unknown): unknown {
  if (given === undefined) return undefined;
  return isObject(given) ? parameters : parameters['input'];
}

function isObject(input: unknown): input is Record<string, unknown> {
  return typeof input === 'object' && input !== null && !Array.isArray(input);
}

function oneAnswer<Answer extends object>(answer: Answer): Extract<Answer, { effect: unknown }> {
  if (!('effect' in answer)) throw new TypeError('The answer is not that to one question.');
  return answer as Extract<Answer, { effect: unknown }>;
}

/** Whether the tool ran and the service did not accept the report: the model needs the result, and must not call it again. */
export function isNotReported(error: unknown): error is ResultNotReportedError {
  return isGovernanceError(error) && error.name === 'ResultNotReportedError';
}

/** By its form, since the client may be loaded as both an ES module and a CommonJS module. */
function isGovernanceError(error: unknown): error is GovernanceError {
  return error instanceof Error && 'code' in error && 'explained' in error && typeof error.explained === 'function';
}
