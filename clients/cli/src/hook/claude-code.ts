import { type DigestOptions, digestLargeTexts } from '../large-values.js';
import { type Mapping, readMapping, requestOf, type ToolRequest, UnclearCallError } from '../mcp/mapping.js';
import { waitingText } from '../decision-text.js';
import type { PrincipalOptions } from '../principal-options.js';
import { refusalText } from '../refusal-text.js';
import { keySource, settings, SettingsError } from '../settings.js';
import { forget, keepAuthorized, type KeptCall, keepOutcome, unreportedCalls } from './authorized-calls.js';
import {
  ApprovalPendingError,
  type Execution,
  GovernanceClient,
  GovernanceError,
  type Outcome,
  ResultNotReportedError,
} from '../../../typescript/src/index.js';

/** The members of a hook's event that are read here. */
interface HookEvent {
  readonly session_id: string;
  readonly hook_event_name: string;
  readonly tool_name: string;
  readonly tool_input: Readonly<Record<string, unknown>>;
  readonly tool_use_id?: string;
  readonly tool_response?: unknown;
  readonly error?: unknown;
}

export interface PreToolUseAnswer {
  readonly hookSpecificOutput: {
    readonly hookEventName: 'PreToolUse';
    readonly permissionDecision: 'deny';
    readonly permissionDecisionReason: string;
  };
}

export interface HookOptions extends DigestOptions {
  /** Path of the mapping. */
  readonly map?: string | undefined;
}

/** Prefix of its tools in resources: `claude-code/Bash`. */
const SERVER = 'claude-code';
/** Time limit in milliseconds: a hook that takes too long is ignored, and the tool would run. */
const PATIENCE = 10_000;

/**
 * Returns the answer to an event; null lets Claude Code follow its own rules, so that being authorised never skips the
 * questions to its user.
 * @throws Error if the event cannot be read or its result cannot be reported.
 */
export async function answerClaudeCode(
  text: string,
  { map, digestAbove }: HookOptions,
  forWhom: PrincipalOptions,
): Promise<PreToolUseAnswer | null> {
  const event = eventOf(text);
  switch (event.hook_event_name) {
    case 'PreToolUse':
      return beforeTool(event, { map, digestAbove }, { run: event.session_id, ...forWhom });
    case 'PostToolUse':
      await afterTool(event, { result: event.tool_response ?? null });
      return null;
    case 'PostToolUseFailure':
      await afterTool(event, { error: event.error });
      return null;
    default:
      throw new TypeError(
        `It is a hook for PreToolUse, PostToolUse and PostToolUseFailure, not ${event.hook_event_name}.`,
      );
  }
}

async function beforeTool(
  event: HookEvent,
  { map, digestAbove }: HookOptions,
  forWhom: PrincipalOptions,
): Promise<PreToolUseAnswer | null> {
  const { tool_name: tool, tool_input: toolInput } = event;
  try {
    const request = withoutSecrets(readMapping(map), { tool, toolInput, digestAbove });
    const service = governance();
    const execution = await service.authorize({ ...request, ...forWhom, agent: await agentOf(service) });
    if (execution.outcome !== 'authorized') return denial(handledReason(tool, execution));
    // What the tool gets may be secret, and reporting needs none of it.
    keepAuthorized(callOf(event), settings().url, { ...execution, parameters: {} });
    return null;
  } catch (error) {
    if (error instanceof ApprovalPendingError) return denial(await pendingReason(tool, error));
    if (error instanceof UnclearCallError) return denial(error.message);
    if (error instanceof GovernanceError) return denial(refusalText(tool, error, keySource()));
    throw error;
  }
}

/** The request about a use of a tool, as the service gets it. @throws UnclearCallError */
function withoutSecrets(
  mapping: Mapping,
  { tool, toolInput, digestAbove }: { tool: string; toolInput: HookEvent['tool_input'] } & DigestOptions,
): ToolRequest {
  const request = requestOf(mapping, { server: SERVER, name: tool, visibleName: tool }, toolInput);
  const secret = [...new Set([...(mapping.secret ?? []), ...(request.secret ?? [])])];
  return {
    ...request,
    parameters: digestLargeTexts(toolInput, digestAbove),
    ...(secret.length > 0 && { secret }),
  };
}

/** @throws SettingsError if the key is bound to nobody: a hook has no option for the agent. */
async function agentOf(service: GovernanceClient): Promise<string> {
  const { agentId } = await service.get('/api/v1/me');
  if (agentId !== null) return agentId;
  throw new SettingsError(
    'The key is bound to no agent, so no tool runs. Give this hook the key of its agent: gov keys issue <name> --scopes execute --agent <agent>.',
  );
}

/** Returns the recorded outcome as text for the model, which the tool would have given. */
function handledReason(tool: string, { outcome, result, failureReason }: Execution): string {
  const isDone = outcome === 'executed';
  const outcomeText = `${isDone ? 'Its result' : 'The reason'}: ${JSON.stringify((isDone ? result : failureReason) ?? null)}`;
  return `The governance service handles ${tool} itself; it is ${outcome}. Do not run it. ${outcomeText}`;
}

async function pendingReason(tool: string, error: ApprovalPendingError): Promise<string> {
  const decisionId = String(error.execution.decisionId);
  const executionText = await waitingText(governance(), error.execution, error);
  return (
    `Approval pending: ${tool} needs the decision ${decisionId} (gov approve ${decisionId}) on ${executionText} ` +
    'Nothing ran. Once it is approved, use the tool again with exactly the same input.'
  );
}

async function afterTool(event: HookEvent, outcome: Outcome): Promise<void> {
  const own = keepOutcome(callOf(event), outcome);
  if (own === null) return;
  await governance().report(own.execution, outcome);
  forget(own);
  for (const earlier of unreportedCalls(own)) await reportEarlier(earlier);
}

/**
 * Reports earlier uses after the service has answered again. A use that it refuses for good is not reported a second
 * time.
 */
async function reportEarlier(earlier: KeptCall): Promise<void> {
  if (earlier.outcome === undefined) return;
  try {
    await governance().report(earlier.execution, earlier.outcome);
  } catch (error) {
    if (!(error instanceof ResultNotReportedError)) throw error;
    const { cause } = error;
    if (!(cause instanceof GovernanceError) || cause.status === null || cause.status >= 500) return;
  }
  forget(earlier);
}

function governance(): GovernanceClient {
  return new GovernanceClient({ ...settings(), patience: PATIENCE });
}

/** Returns a text that identifies one use of a tool. */
function callOf({ session_id: session, tool_use_id: id, tool_name: name, tool_input: toolInput }: HookEvent): string {
  return JSON.stringify([session, id ?? [name, toolInput]]);
}

function denial(reason: string): PreToolUseAnswer {
  return {
    hookSpecificOutput: {
      hookEventName: 'PreToolUse',
      permissionDecision: 'deny',
      permissionDecisionReason: reason,
    },
  };
}

function parseEvent(text: string): Partial<HookEvent> {
  try {
    const event: unknown = JSON.parse(text);
    if (typeof event === 'object' && event !== null) return event;
  } catch {
    // The error below covers it.
  }
  throw new TypeError('Standard input is not the JSON of a hook.');
}

function eventOf(text: string): HookEvent {
  const event = parseEvent(text);
  const { session_id: session, hook_event_name: name, tool_name: tool, tool_input: toolInput } = event;
  for (const [member, value] of Object.entries({ session_id: session, hook_event_name: name, tool_name: tool })) {
    if (typeof value !== 'string') throw new TypeError(`The hook's event has no ${member}.`);
  }
  if (typeof toolInput !== 'object' || Array.isArray(toolInput))
    throw new TypeError("The hook's event has no tool_input.");
  return event as HookEvent;
}
