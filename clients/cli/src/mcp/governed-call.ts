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
  ResultNotReportedError,
} from '../../../typescript/src/index.js';
import { SettingsError } from '../settings.js';
import { endedText, handlerResult, notDone, notOnRecord, pendingText, refusalText, ToolFailure } from './answers.js';
import { type Arguments, type ToolRequest, UnclearCallError } from './mapping.js';
import { CallProgress } from './progress.js';
import { UnknownOutcomeError } from './unknown-outcome.js';

/** The name of the question that a client is asked about a call that waits. */
const QUESTION = 'approval';
const FORM = { type: 'object' as const, properties: {} };
/** As many requests as may wait for one agent by default. The oldest of more questions counts as abandoned. */
const MOST_QUESTIONS = 100;

export interface ToolCall {
  readonly name: string;
  readonly arguments: Arguments | undefined;
}

/** The context of a call. */
export interface Gate {
  readonly governance: GovernanceClient;
  readonly agent: () => Promise<string>;
  readonly requestOf: (call: ToolCall) => ToolRequest;
  /** Passes a call to the server. Only authorised calls get here. */
  readonly run: (
    call: ToolCall,
    signal: AbortSignal,
    onProgress: ((progress: Progress) => void) | null,
  ) => Promise<CallToolResult>;
  /** Seconds for which a call waits for its approval. */
  readonly hold: number;
  /** URL at which a person decides, or null if there is no page for it. */
  readonly pageOf: (decisionId: string) => Promise<string | null>;
  /** The calls that were passed to the server and are not reported yet. */
  readonly carrying: Set<Promise<unknown>>;
  /** How many calls wait for each execution: the last one that is cancelled withdraws it. */
  readonly waiting: Map<string, number>;
  /** The executions that a client has a question about, so that somebody waits for them, too. */
  readonly asked: Set<string>;
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
  const progress = new CallProgress(context);
  const first = await attempt(gate, call, context, progress);
  if (!(first instanceof ApprovalPendingError)) return first;
  const waited = await approvalOf(gate, call, context, progress, first.execution).catch((error: unknown) => {
    if (error instanceof GovernanceError) return error;
    throw error;
  });
  if (waited instanceof GovernanceError) return answerTo(call, waited);
  if (waited.outcome === 'approved') {
    const second = await attempt(gate, call, context, progress);
    // Another call has used the approval: this one needs its own.
    return second instanceof ApprovalPendingError ? notDone(pendingText(call.name, second.execution)) : second;
  }
  if (waited.outcome !== 'pending_approval') return notDone(endedText(call.name, waited));
  const wasAsked = context.mcpReq.inputResponses?.[QUESTION] !== undefined;
  if (elicitation === null || wasAsked) return notDone(pendingText(call.name, waited));
  remember(gate.asked, waited.id);
  return question(gate, call, elicitation, waited);
}

/** A client need not answer, so they must not add up. */
function remember(asked: Set<string>, id: string): void {
  asked.delete(id);
  asked.add(id);
  const [oldest] = asked;
  if (asked.size > MOST_QUESTIONS && oldest !== undefined) asked.delete(oldest);
}

/** Checks the call, and runs it if it is authorised. The client cannot interrupt the check: what it authorises has to be reported. */
async function attempt(
  gate: Gate,
  call: ToolCall,
  { mcpReq: { signal } }: ServerContext,
  progress: CallProgress,
): Promise<CallToolResult | ApprovalPendingError> {
  try {
    const request = { ...gate.requestOf(call), agent: await gate.agent() };
    const execution = await gate.governance.authorize(request);
    const carrying = gate.governance.carryOut(execution, () => run(gate, call, signal, progress), { signal });
    gate.carrying.add(carrying);
    const result = await carrying.finally(() => gate.carrying.delete(carrying));
    return execution.outcome === 'authorized' ? result : handlerResult(result);
  } catch (error) {
    return error instanceof ApprovalPendingError ? error : answerTo(call, error);
  }
}

async function run(gate: Gate, call: ToolCall, signal: AbortSignal, progress: CallProgress): Promise<CallToolResult> {
  const result = await gate.run(call, signal, progress.ofTool()).catch((error: unknown) => {
    if (!signal.aborted || error instanceof UnknownOutcomeError) throw error;
    throw new Error('The client cancelled the call while the tool ran; what the tool had done by then is not known.');
  });
  if (result.isError === true) throw new ToolFailure(result);
  return result;
}

/** The execution once it is decided, or when the call has waited long enough. @throws the reason of the client's signal. */
async function approvalOf(
  { governance, hold, waiting, asked: questions }: Gate,
  { name }: ToolCall,
  { mcpReq: { signal, inputResponses } }: ServerContext,
  progress: CallProgress,
  asked: Execution,
): Promise<Execution> {
  const { id } = asked;
  if (inputResponses?.[QUESTION] !== undefined) questions.delete(id);
  waiting.set(id, (waiting.get(id) ?? 0) + 1);
  const saying = progress.startWaiting(`${name} waits for the decision ${String(asked.decisionId)}.`);
  try {
    return await governance.decided(asked, { wait: hold, signal });
  } catch (error) {
    if (signal.aborted && waiting.get(id) === 1 && !questions.has(id)) await withdraw(governance, id);
    throw error;
  } finally {
    saying.stop();
    const others = (waiting.get(id) ?? 1) - 1;
    if (others === 0) waiting.delete(id);
    else waiting.set(id, others);
  }
}

/** The answer of the client approves nothing: it only causes another check. */
async function question(
  gate: Gate,
  { name }: ToolCall,
  { form, url: takesUrls }: { readonly form: boolean; readonly url: boolean },
  execution: Execution,
): Promise<InputRequiredResult | CallToolResult> {
  const decisionId = String(execution.decisionId);
  const page = await gate.pageOf(decisionId);
  const where = page ?? `gov approve ${decisionId}`;
  const message = `${name} needs an approval: the decision ${decisionId}. Have it decided (${where}), then continue.`;
  if (page !== null && takesUrls) {
    return inputRequired({ inputRequests: { [QUESTION]: inputRequired.elicitUrl({ message, url: page }) } });
  }
  if (!form) return notDone(pendingText(name, execution));
  return inputRequired({ inputRequests: { [QUESTION]: inputRequired.elicit({ message, requestedSchema: FORM }) } });
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
  if (error instanceof UnclearCallError || error instanceof SettingsError)
    return notDone(`${name} was not run: ${error.message}`);
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
