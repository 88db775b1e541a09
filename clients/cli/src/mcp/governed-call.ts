import { inputRequired, type InputRequiredResult, type ServerContext } from '@modelcontextprotocol/server';
import {
  ApprovalPendingError,
  type Execution,
  type GovernanceClient,
  GovernanceError,
  type GuardRequest,
  type KeptResults,
  ResultNotReportedError,
} from '../../../typescript/src/index.js';
import { NestedTooDeepError } from '../../../typescript/src/plain-json.js';
import type { ApprovalWaits } from '../approval-waits.js';
import { waitingText } from '../decision-text.js';
import { refusalText } from '../refusal-text.js';
import { SettingsError } from '../settings.js';
import { type Answers, endedText, pendingText, ReportedFailure } from './tool-results.js';
import type { Passing } from './servers/governed-server.js';
import { UnclearCallError } from './mapping.js';
import { CallProgress } from './progress.js';
import { StoppedError, type StopWatch } from './stop-watch.js';
import { UnknownOutcomeError } from './servers/unknown-outcome.js';

/** The name of the question that a client is asked about a call that waits. */
const QUESTION = 'approval';
const FORM = { type: 'object' as const, properties: {} };
/** Errors with which nothing was asked, and nothing ran. */
const UNASKED = [UnclearCallError, SettingsError, NestedTooDeepError];

/** What a client asks for: a call of a tool, the reading of a resource, a prompt. */
export interface GovernedCall<Result> {
  /** What texts call it. */
  readonly name: string;
  /** Each time that it is asked about: what it depends on may change while it waits. @throws UnclearCallError */
  readonly requestOf: () => GuardRequest | Promise<GuardRequest>;
  /** Passes it to the server. Only what is authorised gets here. @throws ReportedFailure for what the server calls a failure. */
  readonly run: (passing: Passing) => Promise<Result>;
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
  /** What the record keeps of their results. */
  readonly results: KeptResults;
  /** Runs what is authorised, and reports the outcome. */
  readonly carryOut: CarryOut;
  /** Members of each request besides those of the call. */
  readonly requestMembers: Pick<GuardRequest, 'via'>;
  /** Seconds for which a call waits for its approval. */
  readonly hold: number;
  readonly stops: Pick<StopWatch, 'during'>;
  /** URL at which a person decides, or null if there is no page for it. */
  readonly pageOf: (decisionId: string) => Promise<string | null>;
  /** The calls that were passed to the server and are not reported yet. */
  readonly carrying: Set<Promise<unknown>>;
  readonly waits: ApprovalWaits;
}

/** How to ask the client while a call waits; null if it cannot be asked. */
export type Elicitation = { readonly form: boolean; readonly url: boolean } | null;

/**
 * One call: checked, held while it needs an approval, run when it is authorised, and reported. Whatever happens, a call that is
 * not authorised does not run.
 */
export async function governedCall<Result>(
  gate: Gate,
  call: GovernedCall<Result>,
  context: ServerContext,
  elicitation: Elicitation,
): Promise<Result | InputRequiredResult> {
  const progress = CallProgress.of(context);
  const first = await attempt(gate, call, context, progress);
  if (!(first instanceof ApprovalPendingError)) return first;
  const waited = await approvalOf(gate, call.name, context, progress, first).catch((error: unknown) => {
    if (error instanceof GovernanceError) return error;
    throw error;
  });
  if (waited instanceof GovernanceError) return answerTo(call, waited);
  if (waited.outcome === 'approved') {
    const second = await attempt(gate, call, context, progress);
    if (!(second instanceof ApprovalPendingError)) return second;
    // Another call has used the approval: this one needs its own.
    gate.waits.promise(second.execution.id);
    return call.answers.refused(await pending(gate, call.name, second.execution));
  }
  if (waited.outcome !== 'pending_approval') return call.answers.refused(endedText(call.name, waited));
  const wasAsked = context.mcpReq.inputResponses?.[QUESTION] !== undefined;
  gate.waits.promise(waited.id);
  if (elicitation === null || wasAsked) return call.answers.refused(await pending(gate, call.name, waited));
  const asked = await question(gate, call.name, elicitation, waited);
  return asked ?? call.answers.refused(await pending(gate, call.name, waited));
}

/**
 * Checks the call, and runs it if it is authorised. A call that the client has cancelled uses no approval up; a request that may
 * authorise it is not interrupted, as what it authorises has to be reported.
 */
async function attempt<Result>(
  gate: Gate,
  call: GovernedCall<Result>,
  context: ServerContext,
  progress: CallProgress,
): Promise<Result | ApprovalPendingError> {
  const { signal } = context.mcpReq;
  try {
    const request = { ...(await call.requestOf()), ...gate.requestMembers, agent: await gate.agent() };
    return await gate.stops.during(request, async (stopped) => {
      const execution = await gate.governance.authorize(request, { signal });
      const ending = AbortSignal.any([signal, stopped]);
      const passing = { signal: ending, onProgress: progress.ofCall(), context };
      const { results } = gate;
      const carrying = gate.carryOut(execution, () => run(call, passing), { signal, stopped, results });
      gate.carrying.add(carrying);
      const result = await carrying.finally(() => gate.carrying.delete(carrying));
      return execution.outcome === 'authorized' ? result : call.answers.recorded(result);
    });
  } catch (error) {
    return error instanceof ApprovalPendingError ? error : answerTo(call, error);
  }
}

async function run<Result>(call: GovernedCall<Result>, passing: Passing): Promise<Result> {
  const { signal } = passing;
  return call.run(passing).catch((error: unknown) => {
    if (!signal.aborted || error instanceof UnknownOutcomeError) throw error;
    const who = signal.reason instanceof StoppedError ? 'Somebody stopped the agent' : 'The client cancelled the call';
    throw new Error(`${who} while it ran; what it had done by then is not known.`);
  });
}

/** The execution once it is decided, or when the call has waited long enough. @throws the reason of the client's signal. */
async function approvalOf(
  { governance, hold, waits }: Gate,
  name: string,
  { mcpReq: { signal } }: ServerContext,
  progress: CallProgress,
  { execution, isFirst }: ApprovalPendingError,
): Promise<Execution> {
  const saying = progress.startWaiting(`${name} waits for the decision ${String(execution.decisionId)}.`);
  const wait = (): Promise<Execution> => governance.waitForDecision(execution, { wait: hold, signal });
  try {
    return await waits.during({ execution, isFirst, signal, wait, withdraw: () => withdraw(governance, execution.id) });
  } finally {
    saying.stop();
  }
}

/** The answer of the client approves nothing: it only causes another check. Null where the client cannot be asked this way. */
async function question(
  gate: Gate,
  name: string,
  { form, url: takesUrls }: { readonly form: boolean; readonly url: boolean },
  execution: Execution,
): Promise<InputRequiredResult | null> {
  const decisionId = String(execution.decisionId);
  const page = await gate.pageOf(decisionId);
  const where = page ?? `gov approve ${decisionId}`;
  const asked = await waitingText(gate.governance, execution);
  const message = `${name} needs an approval: the decision ${decisionId} on ${asked} Have it decided (${where}), then continue.`;
  if (page !== null && takesUrls) {
    return inputRequired({ inputRequests: { [QUESTION]: inputRequired.elicitUrl({ message, url: page }) } });
  }
  if (!form) return null;
  return inputRequired({ inputRequests: { [QUESTION]: inputRequired.elicit({ message, requestedSchema: FORM }) } });
}

async function pending({ governance }: Gate, name: string, execution: Execution): Promise<string> {
  return pendingText(name, execution, await waitingText(governance, execution));
}

/** Nobody waits any longer, so nobody should be asked to approve it. */
async function withdraw(governance: GovernanceClient, id: string): Promise<void> {
  const body = { reason: 'The client cancelled the call before the tool ran.' };
  try {
    await governance.post('/api/v1/executions/{id}/cancel', { path: { id }, body });
  } catch (error) {
    // It has been decided meanwhile, or the service is unreachable: nothing runs in either case.
    if (!(error instanceof GovernanceError)) throw error;
  }
}

/** The text for the model. @throws errors that are defects of this program. */
function answerTo<Result>({ name, answers }: GovernedCall<Result>, error: unknown): Result {
  if (error instanceof ReportedFailure) return error.result as Result;
  if (error instanceof ResultNotReportedError)
    return answers.noted(resultWithin(name, answers, error.result), error.message);
  if (UNASKED.some((kind) => error instanceof kind))
    return answers.refused(`${name} was not run: ${(error as Error).message}`);
  if (error instanceof GovernanceError) return answers.refused(refusalText(name, error));
  return failed(name, answers, error);
}

function resultWithin<Result>(name: string, answers: Answers<Result>, result: unknown): Result {
  if (result instanceof ReportedFailure) return result.result as Result;
  // Only what ran here is reported from here.
  return result instanceof Error ? failed(name, answers, result) : (result as Result);
}

function failed<Result>(name: string, answers: Answers<Result>, error: unknown): Result {
  if (error instanceof UnknownOutcomeError) return answers.refused(error.message);
  return answers.refused(`${name} failed: ${error instanceof Error ? error.message : String(error)}`);
}
