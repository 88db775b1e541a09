import {
  type CallToolResult,
  inputRequired,
  type InputRequiredResult,
  type Progress,
  type ServerContext,
} from '@modelcontextprotocol/server';
import {
  ApprovalPendingError,
  type Execution,
  type GovernanceClient,
  GovernanceError,
  type GuardRequest,
  ResultNotReportedError,
} from '../../../typescript/src/index.js';
import { NestedTooDeepError } from '../../../typescript/src/plain-json.js';
import { decisionOf, waitingText } from '../decision-text.js';
import { SettingsError } from '../settings.js';
import { endedText, handlerResult, notDone, notOnRecord, pendingText, refusalText, ToolFailure } from './answers.js';
import { type Arguments, UnclearCallError } from './mapping.js';
import { CallProgress } from './progress.js';
import { StoppedError, type StopWatch } from './stop-watch.js';
import { UnknownOutcomeError } from './unknown-outcome.js';

/** The name of the question that a client is asked about a call that waits. */
const QUESTION = 'approval';
const FORM = { type: 'object' as const, properties: {} };
/** As many requests as may wait for one agent by default: of more, the oldest is forgotten. */
const MOST_PROMISES = 100;
/** Errors with which nothing was asked, and nothing ran. */
const UNASKED = [UnclearCallError, SettingsError, NestedTooDeepError];

export interface ToolCall {
  readonly name: string;
  readonly arguments: Arguments | undefined;
}

/** The context of a call. */
export interface Gate {
  readonly governance: GovernanceClient;
  readonly agent: () => Promise<string>;
  readonly requestOf: (call: ToolCall) => GuardRequest;
  /** Passes a call to the server. Only authorised calls get here. */
  readonly run: (
    call: ToolCall,
    signal: AbortSignal,
    onProgress: ((progress: Progress) => void) | null,
  ) => Promise<CallToolResult>;
  /** Seconds for which a call waits for its approval. */
  readonly hold: number;
  readonly stops: StopWatch;
  /** URL at which a person decides, or null if there is no page for it. */
  readonly pageOf: (decisionId: string) => Promise<string | null>;
  /** The calls that were passed to the server and are not reported yet. */
  readonly carrying: Set<Promise<unknown>>;
  /** The calls that wait for each execution. */
  readonly waiting: Map<string, Waiting>;
  /** Executions whose client has had the answer that its call goes through once they are approved. */
  readonly promised: Set<string>;
}

/** The calls that wait for one execution: the last of them that is cancelled withdraws it, if one of them has opened it. */
export interface Waiting {
  count: number;
  /** Else somebody else waits for it, whom this proxy may not know. */
  hasOpened: boolean;
}

/** How to ask the client while a call waits; null if it cannot be asked. */
export type Elicitation = { readonly form: boolean; readonly url: boolean } | null;

/**
 * One call of a tool: checked, held while it needs an approval, run when it is authorised, and reported. Whatever happens,
 * a call that is not authorised does not run.
 */
export async function governedCall(
  gate: Gate,
  call: ToolCall,
  context: ServerContext,
  elicitation: Elicitation,
): Promise<CallToolResult | InputRequiredResult> {
  const progress = CallProgress.of(context);
  const first = await attempt(gate, call, context, progress);
  if (!(first instanceof ApprovalPendingError)) return first;
  const waited = await approvalOf(gate, call, context, progress, first).catch((error: unknown) => {
    if (error instanceof GovernanceError) return error;
    throw error;
  });
  if (waited instanceof GovernanceError) return answerTo(call, waited);
  if (waited.outcome === 'approved') {
    const second = await attempt(gate, call, context, progress);
    if (!(second instanceof ApprovalPendingError)) return second;
    // Another call has used the approval: this one needs its own.
    remember(gate.promised, second.execution.id);
    return notDone(await pending(gate, call, second.execution));
  }
  if (waited.outcome !== 'pending_approval') return notDone(endedText(call.name, waited));
  const wasAsked = context.mcpReq.inputResponses?.[QUESTION] !== undefined;
  remember(gate.promised, waited.id);
  if (elicitation === null || wasAsked) return notDone(await pending(gate, call, waited));
  return question(gate, call, elicitation, waited);
}

/** A client need not call again, so they must not add up. */
function remember(promised: Set<string>, id: string): void {
  promised.delete(id);
  promised.add(id);
  const [oldest] = promised;
  if (promised.size > MOST_PROMISES && oldest !== undefined) promised.delete(oldest);
}

/**
 * Checks the call, and runs it if it is authorised. A call that the client has cancelled uses no approval up; a request that may
 * authorise it is not interrupted, as what it authorises has to be reported.
 */
async function attempt(
  gate: Gate,
  call: ToolCall,
  { mcpReq: { signal } }: ServerContext,
  progress: CallProgress,
): Promise<CallToolResult | ApprovalPendingError> {
  try {
    const request = { ...gate.requestOf(call), agent: await gate.agent() };
    return await gate.stops.during(request, async (stopped) => {
      const execution = await gate.governance.authorize(request, { signal });
      const ending = AbortSignal.any([signal, stopped]);
      const carrying = gate.governance.carryOut(execution, () => run(gate, call, ending, progress), { signal });
      gate.carrying.add(carrying);
      const result = await carrying.finally(() => gate.carrying.delete(carrying));
      return execution.outcome === 'authorized' ? result : handlerResult(result);
    });
  } catch (error) {
    return error instanceof ApprovalPendingError ? error : answerTo(call, error);
  }
}

async function run(gate: Gate, call: ToolCall, signal: AbortSignal, progress: CallProgress): Promise<CallToolResult> {
  const result = await gate.run(call, signal, progress.ofTool()).catch((error: unknown) => {
    if (!signal.aborted || error instanceof UnknownOutcomeError) throw error;
    const who = signal.reason instanceof StoppedError ? 'Somebody stopped the agent' : 'The client cancelled the call';
    throw new Error(`${who} while the tool ran; what the tool had done by then is not known.`);
  });
  if (result.isError === true) throw new ToolFailure(result);
  return result;
}

/** The execution once it is decided, or when the call has waited long enough. @throws the reason of the client's signal. */
async function approvalOf(
  { governance, hold, waiting, promised }: Gate,
  { name }: ToolCall,
  { mcpReq: { signal } }: ServerContext,
  progress: CallProgress,
  { execution: asked, isFirst }: ApprovalPendingError,
): Promise<Execution> {
  const { id } = asked;
  const calls = waiting.get(id) ?? { count: 0, hasOpened: false };
  calls.count += 1;
  calls.hasOpened ||= isFirst;
  waiting.set(id, calls);
  const saying = progress.startWaiting(`${name} waits for the decision ${String(asked.decisionId)}.`);
  try {
    return await governance.decided(asked, { wait: hold, signal });
  } catch (error) {
    const isLast = calls.count === 1 && calls.hasOpened && !promised.has(id);
    if (signal.aborted && isLast) await withdraw(governance, id);
    throw error;
  } finally {
    saying.stop();
    calls.count -= 1;
    if (calls.count === 0) waiting.delete(id);
  }
}

/** The answer of the client approves nothing: it only causes another check. */
async function question(
  gate: Gate,
  call: ToolCall,
  { form, url: takesUrls }: { readonly form: boolean; readonly url: boolean },
  execution: Execution,
): Promise<InputRequiredResult | CallToolResult> {
  const { name } = call;
  const decisionId = String(execution.decisionId);
  const page = await gate.pageOf(decisionId);
  const where = page ?? `gov approve ${decisionId}`;
  const asked = waitingText(execution, await decisionOf(gate.governance, execution));
  const message = `${name} needs an approval: the decision ${decisionId} on ${asked} Have it decided (${where}), then continue.`;
  if (page !== null && takesUrls) {
    return inputRequired({ inputRequests: { [QUESTION]: inputRequired.elicitUrl({ message, url: page }) } });
  }
  if (!form) return notDone(await pending(gate, call, execution));
  return inputRequired({ inputRequests: { [QUESTION]: inputRequired.elicit({ message, requestedSchema: FORM }) } });
}

async function pending({ governance }: Gate, { name }: ToolCall, execution: Execution): Promise<string> {
  return pendingText(name, execution, await decisionOf(governance, execution));
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
function answerTo({ name }: ToolCall, error: unknown): CallToolResult {
  if (error instanceof ToolFailure) return error.result;
  if (error instanceof ResultNotReportedError) return notOnRecord(resultWithin(name, error.result), error.message);
  if (UNASKED.some((kind) => error instanceof kind)) return notDone(`${name} was not run: ${(error as Error).message}`);
  if (error instanceof GovernanceError) return notDone(refusalText(name, error));
  return failed(name, error);
}

function resultWithin(name: string, result: unknown): CallToolResult {
  if (result instanceof ToolFailure) return result.result;
  // Only what ran here is reported from here.
  return result instanceof Error ? failed(name, result) : (result as CallToolResult);
}

function failed(name: string, error: unknown): CallToolResult {
  if (error instanceof UnknownOutcomeError) return notDone(error.message);
  return notDone(`${name} failed: ${error instanceof Error ? error.message : String(error)}`);
}
