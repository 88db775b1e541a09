import {
  type ElicitRequest,
  inputRequired,
  type InputRequiredResult,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { randomUUID } from 'node:crypto';
import {
  ApprovalPendingError,
  type Execution,
  type GovernanceClient,
  GovernanceError,
  type GuardRequest,
  type KeptResults,
  ResultNotReportedError,
} from '../../../typescript/src/index.js';
import { TOO_FEW_APPROVERS } from '../../../typescript/src/guard-errors.js';
import { NestedTooDeepError } from '../../../typescript/src/plain-json.js';
import type { ApprovalWaits } from '../approval-waits.js';
import { type Feasibility, waitingText } from '../decision-text.js';
import { refusalText } from '../refusal-text.js';
import { digestLargeTexts } from '../large-values.js';
import { SettingsError } from '../settings.js';
import { type Answers, endedText, pendingText, ReportedFailure } from './tool-results.js';
import type { CallOptions } from './servers/governed-server.js';
import { UnclearCallError } from './mapping.js';
import { CallProgress } from './progress.js';
import { StoppedError } from './running-calls.js';
import type { StopWatch } from './stop-watch.js';
import { NotSentError, UnknownOutcomeError } from './servers/unknown-outcome.js';

/** Maximum time in milliseconds for a client to answer a question to its user. */
export const MAX_QUESTION_MS = 300_000;
/** The name of the question to a client whose call waits. */
const QUESTION = 'approval';
const FORM = { type: 'object' as const, properties: {} };
/** Errors after which no request was sent, and nothing ran. */
const UNASKED = [UnclearCallError, SettingsError, NestedTooDeepError];

/** The only server ended before a call was sent to it. The message is a part of a sentence. */
export class ServerEndedError extends Error {
  constructor() {
    super('the MCP server ended before the call was sent.');
  }
}

/** A request of a client: a call of a tool, the reading of a resource, a prompt. */
export interface GovernedCall<Result> {
  /** The name in messages. */
  readonly name: string;
  /**
   * Returns the request to the policies; called for each check, as it may change while the call waits.
   * @throws UnclearCallError
   */
  readonly requestOf: () => GuardRequest | Promise<GuardRequest>;
  /** Passes an authorised call to the server. @throws ReportedFailure if the server reports a failure. */
  readonly run: (callOptions: CallOptions) => Promise<Result>;
  readonly answers: Answers<Result>;
}

export interface CarryOutOptions {
  /** Fires when the client has cancelled the call. */
  readonly signal: AbortSignal;
  /** Fires when the call is stopped. */
  readonly stopped: AbortSignal;
  readonly results: KeptResults;
}

/** The second half of a guard. @throws ResultNotReportedError; errors of `run` */
export type CarryOut = <Result>(
  execution: Execution,
  run: () => Promise<Result>,
  options: CarryOutOptions,
) => Promise<Result>;

/** The context of calls. */
export interface Gate {
  readonly governance: GovernanceClient;
  readonly agent: () => Promise<string>;
  /** The part of results that records keep. */
  readonly results: KeptResults;
  /** Runs what is authorised, and reports the outcome. */
  readonly carryOut: CarryOut;
  /** Members that each request has in addition to those of the call. */
  readonly requestMembers: Pick<GuardRequest, 'via'>;
  /** Pointers to arguments of every call that the service must not keep. */
  readonly secret: readonly string[];
  /** Bytes above which the service gets the hash of a text. */
  readonly digestAbove: number;
  /** Seconds for which a call waits for its approval. */
  readonly hold: number;
  /** Says where the key comes from. */
  readonly keySource: string;
  readonly stops: Pick<StopWatch, 'during'>;
  /** Fires when the only server has ended; undefined if it can be connected to again. */
  readonly ended?: AbortSignal | undefined;
  /** URL at which a person decides, or null if there is no page for it. */
  readonly pageOf: (decisionId: string) => Promise<string | null>;
  /** The calls that are asked about, wait for an approval, or were passed to the server and are not reported yet. */
  readonly activeCalls: Set<Promise<unknown>>;
  readonly waits: ApprovalWaits;
}

/** The way to question the client while a call waits; null if it has none. */
export type Elicitation = { readonly form: boolean; readonly url: boolean } | null;

/**
 * Carries out one call: checks it, holds it while it needs an approval, runs it when it is authorised, and reports it.
 * A call that is not authorised never runs.
 */
export async function governedCall<Result>(
  gate: Gate,
  call: GovernedCall<Result>,
  context: ServerContext,
  elicitation: Elicitation,
): Promise<Result | InputRequiredResult> {
  const progress = CallProgress.from(context);
  const first = await attempt(gate, call, context, progress);
  if (!(first instanceof ApprovalPendingError)) return first;
  const outcome = await approvalOf(gate, call.name, context, progress, first).catch((error: unknown) => {
    if ([GovernanceError, StoppedError, ServerEndedError].some((kind) => error instanceof kind)) return error as Error;
    throw error;
  });
  if (outcome instanceof Error) return answerTo(gate, call, outcome);
  if (outcome.outcome === 'approved') {
    const second = await attempt(gate, call, context, progress);
    if (!(second instanceof ApprovalPendingError)) return second;
    // Another call has used the approval, so this one needs its own.
    gate.waits.promise(second.execution.id);
    return call.answers.refused(await pending(gate, call.name, second.execution, second));
  }
  if (outcome.outcome !== 'pending_approval') return call.answers.refused(endedText(call.name, outcome));
  const hasAnswered = context.mcpReq.inputResponses?.[QUESTION] !== undefined;
  gate.waits.promise(outcome.id);
  if (elicitation === null || hasAnswered) return call.answers.refused(await pending(gate, call.name, outcome, first));
  const questionResult = await question(gate, call.name, elicitation, outcome, first);
  if (questionResult !== null && context.mcpReq.envelope !== undefined) return questionResult;
  const inputResponses = questionResult && (await answersWithin(context, questionResult));
  if (inputResponses === null) return call.answers.refused(await pending(gate, call.name, outcome, first));
  return governedCall(gate, call, { ...context, mcpReq: { ...context.mcpReq, inputResponses } }, elicitation);
}

/**
 * Questions a client with a handshake, and returns its answer; null if it gives none. The SDK would do so, too, but not
 * for subscriptions, and without an answer it would not say that the approval is pending.
 */
async function answersWithin(
  { mcpReq: { send, signal } }: ServerContext,
  { inputRequests }: InputRequiredResult,
): Promise<Record<string, unknown> | null> {
  const params = inputRequests?.[QUESTION]?.params as ElicitRequest['params'];
  // URLs need an id in this version.
  const ids = params.mode === 'url' && { elicitationId: randomUUID() };
  const request = { method: 'elicitation/create' as const, params: { ...params, ...ids } as ElicitRequest['params'] };
  try {
    return { [QUESTION]: await send(request, { timeout: MAX_QUESTION_MS, signal }) };
  } catch {
    signal.throwIfAborted();
    return null;
  }
}

/**
 * Checks the call, and runs it if it is authorised. A call that the client has cancelled uses no approval up; a request
 * that may authorise it is not interrupted, as what it authorises has to be reported.
 */
async function attempt<Result>(
  gate: Gate,
  call: GovernedCall<Result>,
  context: ServerContext,
  progress: CallProgress,
): Promise<Result | ApprovalPendingError> {
  try {
    return await whileActive(gate, authorizedRun(gate, call, context, progress));
  } catch (error) {
    return error instanceof ApprovalPendingError ? error : answerTo(gate, call, error);
  }
}

async function authorizedRun<Result>(
  gate: Gate,
  call: GovernedCall<Result>,
  context: ServerContext,
  progress: CallProgress,
): Promise<Result> {
  gate.ended?.throwIfAborted();
  const { signal } = context.mcpReq;
  const members = { ...gate.requestMembers, agent: await gate.agent() };
  const request = { ...withoutSecrets(await call.requestOf(), gate), ...members };
  return gate.stops.during(request, async (stopSignal) => {
    const execution = await gate.governance.authorize(request, { signal });
    const anySignal = AbortSignal.any([signal, stopSignal]);
    const callOptions = { signal: anySignal, onProgress: progress.ofCall(), context };
    const { results } = gate;
    const result = await gate.carryOut(execution, () => run(call, callOptions), {
      signal,
      stopped: stopSignal,
      results,
    });
    return execution.outcome === 'authorized' ? result : call.answers.fromRecorded(result);
  });
}

/** Returns the signal that fires when a call is cancelled, or `ended` does. */
export function signalOf(ended: AbortSignal | undefined, { mcpReq }: ServerContext): AbortSignal {
  return ended === undefined ? mcpReq.signal : AbortSignal.any([mcpReq.signal, ended]);
}

/** Counts a call until it is settled: it is answered before the program ends. */
export async function whileActive<Result>(
  { activeCalls }: Pick<Gate, 'activeCalls'>,
  call: Promise<Result>,
): Promise<Result> {
  activeCalls.add(call);
  return call.finally(() => activeCalls.delete(call));
}

/** The request as the service gets it: what runs has the arguments themselves. */
function withoutSecrets(request: GuardRequest, { secret, digestAbove }: Gate): GuardRequest {
  const pointers = [...new Set([...secret, ...(request.secret ?? [])])];
  const { parameters } = request;
  return {
    ...request,
    ...(parameters !== undefined && { parameters: digestLargeTexts(parameters, digestAbove) }),
    ...(pointers.length > 0 && { secret: pointers }),
  };
}

async function run<Result>(call: GovernedCall<Result>, callOptions: CallOptions): Promise<Result> {
  const { signal } = callOptions;
  return call.run(callOptions).catch((error: unknown) => {
    if (!signal.aborted || error instanceof UnknownOutcomeError) throw error;
    const cause = signal.reason instanceof StoppedError ? signal.reason.message : 'The client cancelled the call';
    if (error instanceof NotSentError) throw new NotSentError(`${cause} before it was sent.`);
    throw new Error(`${cause} while it ran; what it had done by then is not known.`);
  });
}

/**
 * Waits until the execution is decided, or the time of the call is over. @throws StoppedError if the agent is stopped
 * meanwhile; the reason of the client's signal
 */
async function approvalOf(
  { governance, hold, waits, stops, ended, activeCalls }: Gate,
  name: string,
  context: ServerContext,
  progress: CallProgress,
  { execution, isFirst, isFeasible }: ApprovalPendingError,
): Promise<Execution> {
  const { agentId: agent, action, resourceType, resourceId } = execution;
  const waiting = `${name} waits for the decision ${String(execution.decisionId)}.`;
  const waitingMessages = progress.startWaiting(isFeasible ? waiting : `${waiting} ${TOO_FEW_APPROVERS}`);
  const withdrawal = (): Promise<void> => withdraw(governance, execution.id);
  const signal = signalOf(ended, context);
  try {
    const waitingCall = stops.during({ agent, action, resourceType, resourceId }, (stopSignal) => {
      const end = AbortSignal.any([signal, stopSignal]);
      const wait = (): Promise<Execution> => governance.waitForDecision(execution, { wait: hold, signal: end });
      return waits.during({ execution, isFirst, signal, wait, withdraw: withdrawal });
    });
    return await whileActive({ activeCalls }, waitingCall);
  } finally {
    waitingMessages.stop();
  }
}

/**
 * Returns a question to the client, whose answer approves nothing and only causes another check; null if the client
 * cannot show it.
 */
async function question(
  gate: Gate,
  name: string,
  { form, url: takesUrls }: { readonly form: boolean; readonly url: boolean },
  execution: Execution,
  feasibility: Feasibility,
): Promise<InputRequiredResult | null> {
  const decisionId = String(execution.decisionId);
  const page = await gate.pageOf(decisionId);
  const instruction = page ?? `gov approve ${decisionId}`;
  const executionText = await waitingText(gate.governance, execution, feasibility);
  const message = `${name} needs an approval: the decision ${decisionId} on ${executionText} Have it decided (${instruction}), then continue.`;
  if (page !== null && takesUrls) {
    return inputRequired({ inputRequests: { [QUESTION]: inputRequired.elicitUrl({ message, url: page }) } });
  }
  if (!form) return null;
  return inputRequired({ inputRequests: { [QUESTION]: inputRequired.elicit({ message, requestedSchema: FORM }) } });
}

async function pending(
  { governance }: Gate,
  name: string,
  execution: Execution,
  feasibility: Feasibility,
): Promise<string> {
  return pendingText(name, execution, await waitingText(governance, execution, feasibility));
}

/** Withdraws the request for approval, as nobody waits for it any longer. */
async function withdraw(governance: GovernanceClient, id: string): Promise<void> {
  const body = { reason: 'The call ended before the tool ran: the client cancelled it, or the server ended.' };
  try {
    await governance.post('/api/v1/executions/{id}/cancel', { path: { id }, body });
  } catch (error) {
    // The request is already decided, or the service is unreachable: nothing runs in either case.
    if (!(error instanceof GovernanceError)) throw error;
  }
}

/** Returns the result with a text for the model. @throws errors that are defects of this program. */
function answerTo<Result>({ keySource }: Gate, { name, answers }: GovernedCall<Result>, error: unknown): Result {
  if (error instanceof ReportedFailure) return error.result as Result;
  if (error instanceof ResultNotReportedError)
    return answers.withNote(resultWithin(name, answers, error.result), error.message);
  if (UNASKED.some((kind) => error instanceof kind))
    return answers.refused(`${name} was not run: ${(error as Error).message}`);
  if (error instanceof GovernanceError) return answers.refused(refusalText(name, error, keySource));
  if (error instanceof StoppedError)
    return answers.refused(`${name} was not run. ${error.message} while the call waited for its approval.`);
  if (error instanceof ServerEndedError) return answers.refused(`${name} was not run: ${error.message}`);
  return failureResult(name, answers, error);
}

function resultWithin<Result>(name: string, answers: Answers<Result>, result: unknown): Result {
  if (result instanceof ReportedFailure) return result.result as Result;
  // Only what ran here is reported from here.
  return result instanceof Error ? failureResult(name, answers, result) : (result as Result);
}

function failureResult<Result>(name: string, answers: Answers<Result>, error: unknown): Result {
  if (error instanceof UnknownOutcomeError) return answers.refused(error.message);
  return answers.refused(`${name} failed: ${error instanceof Error ? error.message : String(error)}`);
}
