import type { Execution } from './api-types.js';
import { decided, executionIn, settled } from './awaited-execution.js';
import { GovernanceError } from './governance-error.js';
import { type Transport } from './transport.js';

/** The action that an agent wants to carry out. */
export interface GuardRequest {
  /** Id or name; the agent that the key is bound to unless given. */
  readonly agent?: string;
  readonly action: string;
  readonly resourceType: string;
  readonly resourceId: string;
  readonly parameters?: Readonly<Record<string, unknown>>;
}

export interface GuardOptions {
  /** Seconds to wait for a required approval. Default: 0, so a pending approval is thrown at once. */
  readonly wait?: number;
  /** Ends the wait. An action that already runs is not interrupted. */
  readonly signal?: AbortSignal;
}

/** Milliseconds to retry reporting a result while the service does not answer: what was done has to be recorded. */
const REPORT_PATIENCE = 10 * 60_000;
const FAILURE_LENGTH = 2_000;

/** The action needs an approval that has not been given yet. Asking again with the same arguments continues the same request. */
export class ApprovalPendingError extends GovernanceError {
  override readonly name = 'ApprovalPendingError';

  constructor(readonly execution: Execution) {
    super(`The action waits for the approval of the decision ${String(execution.decisionId)}.`, {
      ...{ code: 'APPROVAL_PENDING', status: 202, reason: 'approval_pending' },
    });
  }
}

/**
 * No answer came to a request that may have made a handler of the service carry the action out. The function was not called.
 * Do not repeat the action before you know: look at the executions of the agent.
 */
export class OutcomeUnknownError extends GovernanceError {
  override readonly name = 'OutcomeUnknownError';

  constructor(cause: GovernanceError) {
    const { code, status, reason, requestId, details } = cause;
    super(
      `${cause.message} Whether a handler of the service carried the action out is not known: look at the executions of the agent before you repeat it.`,
      { code, status, reason, requestId, details, cause },
    );
    this.explanation = cause.explanation;
    this.isOutcomeUnknown = true;
  }
}

/** The action was carried out, and the service did not accept its result. Do not repeat the action. */
export class ResultNotReportedError extends GovernanceError {
  override readonly name = 'ResultNotReportedError';

  constructor(
    readonly execution: Execution,
    /** The outcome of the action. */
    readonly result: unknown,
    cause: unknown,
  ) {
    super(`The action was carried out, but the result of the execution ${execution.id} could not be reported.`, {
      ...{ code: 'RESULT_NOT_REPORTED', status: null, cause },
    });
  }
}

export async function guarded<Result>(
  transport: Transport,
  request: GuardRequest & { readonly agent: string },
  run: () => Result | Promise<Result>,
  { wait = 0, signal }: GuardOptions,
): Promise<Result> {
  const execution = await authorized(transport, request, { wait, ...(signal === undefined ? {} : { signal }) });
  if (execution.outcome !== 'authorized') return resultOf(execution) as Result;
  return runAndReport(transport, execution, run);
}

/** Asks, waits for approval and uses it. Returns an execution that is authorised, or that a handler of the service has completed. */
export async function authorized(
  transport: Transport,
  request: GuardRequest & { readonly agent: string },
  { wait = 0, signal }: GuardOptions,
): Promise<Execution> {
  signal?.throwIfAborted();
  const asked = await ask(transport, request, signal);
  const execution = await permitted(transport, asked, wait, signal);
  if (execution.outcome !== 'running') return execution;
  return settled(transport, execution).catch((error: unknown) => {
    throw error instanceof GovernanceError ? new OutcomeUnknownError(error) : error;
  });
}

async function ask(
  transport: Transport,
  { agent, action, resourceType, resourceId, parameters }: GuardRequest & { readonly agent: string },
  signal: AbortSignal | undefined,
): Promise<Execution> {
  const body = { action, resourceType, resourceId, ...(parameters === undefined ? {} : { parameters }) };
  const path = `/api/v1/agents/${encodeURIComponent(agent)}/execute`;
  try {
    return await started(transport.json({ method: 'post', path, body, signal }));
  } catch (error) {
    if (error instanceof GovernanceError && error.status === 403) {
      error.explanation = await explanation(transport, { agent, ...body });
    }
    throw error;
  }
}

/** Null if the caller may not ask for it: the refusal itself is what counts. */
async function explanation(transport: Transport, request: object): Promise<unknown> {
  try {
    const body = { ...request, explain: true };
    return await transport.json({ method: 'post', path: '/api/v1/policies/evaluate', body, patience: 0 });
  } catch (error) {
    if (error instanceof GovernanceError) return null;
    throw error;
  }
}

/** The execution once it may proceed, or has been completed by a handler of the service. */
async function permitted(
  transport: Transport,
  asked: Execution,
  wait: number,
  signal: AbortSignal | undefined,
): Promise<Execution> {
  const execution = await decided(transport, asked, wait, signal);
  if (execution.outcome === 'pending_approval') throw new ApprovalPendingError(execution);
  return execution.outcome === 'approved' ? resumed(transport, execution, signal) : execution;
}

async function resumed(transport: Transport, { id }: Execution, signal: AbortSignal | undefined): Promise<Execution> {
  return started(transport.json({ method: 'post', path: `/api/v1/executions/${id}/resume`, signal }));
}

/** What may make a handler of the service run. @throws OutcomeUnknownError where it is not known whether it did. */
async function started(answer: Promise<unknown>): Promise<Execution> {
  try {
    return executionIn(await answer);
  } catch (error) {
    if (error instanceof GovernanceError && error.isOutcomeUnknown) throw new OutcomeUnknownError(error);
    throw error;
  }
}

/** The result of a handler of the service. @throws GovernanceError for every other outcome. */
function resultOf(execution: Execution): unknown {
  const { id, outcome, failureReason } = execution;
  if (outcome === 'executed') return execution.result;
  throw new GovernanceError(`The execution ${id} is ${outcome}${failureReason === null ? '.' : `: ${failureReason}`}`, {
    ...{ code: `EXECUTION_${outcome.toUpperCase()}`, status: null, reason: outcome },
  });
}

/** The outcome of an authorised action. */
export type Outcome = { readonly result: unknown } | { readonly error: unknown };

export async function reported(transport: Transport, execution: Execution, outcome: Outcome): Promise<void> {
  if ('result' in outcome) await report(transport, execution, executed(outcome.result), outcome.result);
  else await report(transport, execution, failed(outcome.error), outcome.error);
}

async function runAndReport<Result>(
  transport: Transport,
  execution: Execution,
  run: () => Result | Promise<Result>,
): Promise<Result> {
  let result: Result;
  try {
    result = await run();
  } catch (error) {
    await reported(transport, execution, { error });
    throw error;
  }
  await reported(transport, execution, { result });
  return result;
}

interface Report {
  readonly outcome: 'executed' | 'failed';
  readonly result?: unknown;
  readonly failureReason?: string;
}

/** A result that JSON cannot represent is not reported. */
function executed(result: unknown): Report {
  const json = jsonOf(result);
  return json === undefined ? { outcome: 'executed' } : { outcome: 'executed', result: JSON.parse(json) as unknown };
}

function failed(error: unknown): Report {
  return { outcome: 'failed', failureReason: failureOf(error) };
}

function jsonOf(result: unknown): string | undefined {
  try {
    return JSON.stringify(result);
  } catch {
    return undefined;
  }
}

function failureOf(error: unknown): string {
  const text = error instanceof Error ? error.message || error.name : String(error);
  return [...text.trim()].slice(0, FAILURE_LENGTH).join('') || 'It failed without a reason.';
}

/** A result that the service does not accept as a value is left out: the fact that the action was carried out has to be recorded. */
async function report(transport: Transport, execution: Execution, body: Report, result: unknown): Promise<void> {
  const path = `/api/v1/executions/${execution.id}/result`;
  const send = (content: Report): Promise<unknown> =>
    transport.json({ method: 'post', path, body: content, patience: REPORT_PATIENCE });
  try {
    await send(body);
  } catch (error) {
    if (!isRefusedValue(error)) throw new ResultNotReportedError(execution, result, error);
    const { outcome } = body;
    const rest = outcome === 'executed' ? { outcome } : { outcome, failureReason: 'Its reason could not be recorded.' };
    await send(rest).catch((cause: unknown) => {
      throw new ResultNotReportedError(execution, result, cause);
    });
  }
}

function isRefusedValue(error: unknown): boolean {
  return error instanceof GovernanceError && (error.status === 400 || error.status === 413);
}
