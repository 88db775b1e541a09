import type { Execution, OnBehalfOf, Schemas } from './api-types.js';
import { waitForReport, decided, executionIn, settled } from './wait-for-execution.js';
import { GovernanceError, reviewersWords } from './governance-error.js';
import { ApprovalPendingError, OutcomeUnknownError } from './guard-errors.js';
import { pathSegment } from './path-segment.js';
import { type KeptResults, reportOutcome, reportNotBegun } from './report.js';
import { withSentParameters } from './replaced-values.js';
import type { Answer, Transport } from './transport.js';

/** The action that an agent wants to carry out. */
export interface GuardRequest {
  /** Id or name; the agent that the key is bound to unless given. */
  readonly agent?: string;
  readonly action: string;
  readonly resourceType: string;
  readonly resourceId: string;
  readonly parameters?: Readonly<Record<string, unknown>>;
  /**
   * JSON Pointers to values in the parameters that the service must not keep, in addition to those that it knows by
   * their names.
   */
  readonly secret?: string[];
  /** The principal for whom the agent acts: a `user:4711` that your program knows, or `agent:ann`, a registered person. */
  readonly onBehalfOf?: OnBehalfOf;
  /**
   * The conversation or task that the action is part of. A request that is repeated after its approval names the same
   * one.
   */
  readonly run?: string;
  /**
   * The system that is shown the authorisation, one of the service's `PERMIT_AUDIENCES`: the `permit` of the execution
   * is a token for it. There is no permit if the agent is only observed, or a handler of the service carries the action
   * out.
   */
  readonly permit?: string;
  /**
   * The system through which the action is carried out. Only keys with the scope `report` can then report the outcome.
   */
  readonly via?: string;
}

export interface GuardOptions {
  /** Seconds to wait for a required approval. Default: 0, so a pending approval is thrown at once. */
  readonly wait?: number;
  /**
   * Ends the wait. A request that may authorise the action is not given up, and an action that already runs is not
   * interrupted.
   */
  readonly signal?: AbortSignal;
  /** The part of the result that the record keeps. Default: `full`. */ readonly results?: KeptResults;
}

/** Carries the action out. The `parameters` of the execution are the requested ones. */
export type Run<Result> = (execution: Execution) => Result | Promise<Result>;

/** Options of running an authorised action. */
export interface RunOptions {
  /** A signal that is aborted before the action begins prevents it. A running action is not interrupted. */
  readonly signal?: AbortSignal | undefined;
  /** True if the thrown value only pauses the action, which continues later: there is nothing to report yet. */
  readonly isPause?: ((thrown: unknown) => boolean) | undefined;
  /** The part of the result that the record keeps. Default: `full`. */ readonly results?: KeptResults | undefined;
}

/** Executions that were carried out, or are about to be. */
const begun = new WeakSet<Execution>();

/**
 * The second half of a guard.
 * @throws NotBegunError; ResultNotReportedError; the reason of `signal`; errors of `run`.
 */
export async function carriedOut<Result>(
  transport: Transport,
  execution: Execution,
  run: Run<Result>,
  { signal, isPause = () => false, results }: RunOptions,
): Promise<Result> {
  if (execution.outcome !== 'authorized') return resultOf(execution) as Result;
  if (begun.has(execution)) throw new TypeError(`The execution ${execution.id} was carried out before: ask anew.`);
  begun.add(execution);
  if (signal?.aborted === true) await reportNotBegun(transport, execution, signal.reason);
  signal?.throwIfAborted();
  let result: Result;
  try {
    result = await returnValue(run, execution);
  } catch (error) {
    if (isPause(error)) begun.delete(execution);
    else await reportOutcome(transport, execution, { error });
    throw error;
  }
  await reportOutcome(transport, execution, { result }, results);
  return result;
}

/**
 * Returns the result of the action.
 * @throws TypeError for a result that would continue after its report, such as a stream.
 */
async function returnValue<Result>(run: Run<Result>, execution: Execution): Promise<Result> {
  const result = await run(execution);
  if (!isIterator(result)) return result;
  // Ends the iterator, so that it does not run on unreported.
  void Promise.resolve(result.return?.()).catch(() => undefined);
  throw new TypeError('It returned an iterator, so it had not run to its end: return what came of the action.');
}

/**
 * True for the iterator of a generator and the like. An iterator without `throw`, such as a list's, yields values that
 * exist already.
 */
function isIterator(value: unknown): value is AsyncIterator<unknown> {
  if (typeof value !== 'object' || value === null || !('next' in value) || typeof value.next !== 'function')
    return false;
  return Symbol.asyncIterator in value || (Symbol.iterator in value && 'throw' in value);
}

/**
 * Requests the action, waits for approval and uses it. Returns an execution that is authorised, or that a handler of
 * the service has completed. The signal ends only waits: the answer of a request that may authorise the action is
 * needed to report its outcome.
 */
export async function requestAuthorization(
  transport: Transport,
  request: GuardRequest & { readonly agent: string },
  { wait = 0, signal }: GuardOptions,
): Promise<Execution> {
  signal?.throwIfAborted();
  const started = await requestExecution(transport, request);
  const execution = await waitForPermission(transport, started, resumeBody(request), {
    wait,
    ...(signal && { signal }),
  });
  if (execution.outcome !== 'running') return withSentParameters(execution, request.parameters);
  return settled(transport, execution).catch((error: unknown) => {
    throw error instanceof GovernanceError ? new OutcomeUnknownError(error) : error;
  });
}

/** An execution that the service has begun. */
interface StartedExecution {
  readonly execution: Execution;
  /** True if this request created the request for approval. */
  readonly isFirst: boolean;
  /** False if the service says that there are not enough approvers. */
  readonly isFeasible: boolean;
}

/**
 * Reasons of a refusal that an evaluation of the same request can give, too. For other refusals, such as a missing
 * scope, the evaluation would give another reason. `npm run openapi` writes these.
 */
const EXPLAINED: ReadonlySet<string | null> = new Set<Schemas['EvaluationResponse']['reason']>([
  'no_policy_allows',
  'policy_denied',
  'capability_missing',
  'agent_suspended',
  'principal_suspended',
  'stopped',
  'approval_required',
  'approval_too_large',
  'limit_reached',
  'extension_refused',
]);

async function requestExecution(
  transport: Transport,
  request: GuardRequest & { readonly agent: string },
): Promise<StartedExecution> {
  // Misspelt members are sent: the service refuses them by name, while leaving them out would change the request.
  const { agent, permit: _audience, via: _system, ...body } = request;
  const path = `/api/v1/agents/${pathSegment('agent', agent)}/execute`;
  try {
    return await startExecution(transport.answer({ method: 'post', path, body: { ...body, ...resumeBody(request) } }));
  } catch (error) {
    if (error instanceof GovernanceError && EXPLAINED.has(error.reason)) {
      error.explanation = await explanation(transport, { agent, ...body });
    }
    throw error;
  }
}

function resumeBody(request: GuardRequest): object | undefined {
  const { via, secret } = request;
  const members = {
    ...permitBody(request),
    ...(via !== undefined && { via }),
    ...(secret !== undefined && { secret }),
  };
  return Object.keys(members).length === 0 ? undefined : members;
}

function permitBody({ permit }: GuardRequest): object | undefined {
  return permit === undefined ? undefined : { permit: { audience: permit } };
}

/** Loads an explanation of the refusal; null if the caller may not read it. */
async function explanation(transport: Transport, request: object): Promise<unknown> {
  try {
    const body = { ...request, explain: true };
    return await transport.json({ method: 'post', path: '/api/v1/policies/evaluate', body, patience: 0 });
  } catch (error) {
    if (error instanceof GovernanceError) return null;
    throw error;
  }
}

/** Minimum seconds to wait for the report of an equal call. */
const MIN_REPORT_WAIT_SECONDS = 60;
/** Outcomes of a request for approval that cannot be executed. */
const CLOSED: ReadonlySet<Execution['outcome']> = new Set(['rejected', 'expired', 'cancelled'] as const);

/** Waits until the execution may proceed, or a handler of the service has completed it. */
async function waitForPermission(
  transport: Transport,
  { execution: requestedExecution, isFirst, isFeasible }: StartedExecution,
  body: object | undefined,
  { wait = 0, signal }: GuardOptions,
): Promise<Execution> {
  const execution = await decided(transport, requestedExecution, wait, signal);
  if (execution.outcome === 'pending_approval') throw new ApprovalPendingError(execution, isFirst, isFeasible);
  if (CLOSED.has(execution.outcome)) return execution;
  // Equal requests of other callers wait for the same execution, and may have resumed it. Only the service's answer to
  // this caller's own resume says that this caller may proceed.
  const hasWaited = requestedExecution.outcome === 'pending_approval';
  if (execution.outcome !== 'approved' && !hasWaited) return execution;
  signal?.throwIfAborted();
  return resumeExecution(transport, execution, body, { wait, ...(signal && { signal }) });
}

/**
 * Resumes the execution. Of several callers that waited for the same approval, one resumes; the others return its
 * outcome.
 */
async function resumeExecution(
  transport: Transport,
  execution: Execution,
  body: object | undefined,
  { wait = 0, signal }: GuardOptions,
): Promise<Execution> {
  const path = `/api/v1/executions/${execution.id}/resume`;
  try {
    return (await startExecution(transport.answer({ method: 'post', path, body }))).execution;
  } catch (error) {
    if (!(error instanceof GovernanceError && error.status === 409)) throw error;
    return waitForReport(transport, execution, Math.max(wait, MIN_REPORT_WAIT_SECONDS), signal);
  }
}

/**
 * Reads the answer of a request that may run a handler of the service.
 * @throws OutcomeUnknownError if it is unknown whether it ran.
 */
async function startExecution(answer: Promise<Answer>): Promise<StartedExecution> {
  try {
    const { body, headers } = await answer;
    return {
      execution: executionIn(body),
      isFirst: headers.get('Approval-Requested') === 'true',
      isFeasible: headers.get('Approval-Feasible') !== 'false',
    };
  } catch (error) {
    if (error instanceof GovernanceError && error.isOutcomeUnknown) throw new OutcomeUnknownError(error);
    throw error;
  }
}

/** Returns the result of a handler of the service. @throws GovernanceError for every other outcome. */
function resultOf(execution: Execution): unknown {
  const { id, outcome, failureReason, rejection } = execution;
  if (outcome === 'executed') return execution.result;
  const outcomeText = `The execution ${id} is ${outcome}${failureReason === null ? '.' : `: ${failureReason}`}`;
  const message = `${outcomeText} ${reviewersWords(rejection)}`.trim();
  const facts = {
    code: `EXECUTION_${outcome.toUpperCase()}`,
    status: null,
    reason: outcome,
    rejection: rejection ?? null,
  };
  const error = new GovernanceError(message, facts);
  throw outcome === 'interrupted' ? new OutcomeUnknownError(error) : error;
}
