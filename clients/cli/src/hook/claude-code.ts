import { readMapping, requestOf, UnclearCallError } from '../mcp/mapping.js';
import { waitingText } from '../decision-text.js';
import type { PrincipalOptions } from '../principal-options.js';
import { refusalText } from '../refusal-text.js';
import { settings, SettingsError } from '../settings.js';
import { forget, keepAuthorized, type KeptCall, keepOutcome, unreported } from './authorized-calls.js';
import {
  ApprovalPendingError,
  type Execution,
  GovernanceClient,
  GovernanceError,
  type Outcome,
  ResultNotReportedError,
} from '../../../typescript/src/index.js';

/** The parts that matter here of what Claude Code writes to a hook. */
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

/** Prefix of its tools in resources: `claude-code/Bash`. */
const SERVER = 'claude-code';
/** Milliseconds: a hook that takes too long is ignored, and the tool would run. */
const PATIENCE = 10_000;

/**
 * The answer to one event, or null if there is none: then Claude Code follows its own rules, so that being
 * authorised never skips the questions to its user.
 * @throws Error if the event cannot be read or its result cannot be reported.
 */
export async function answerClaudeCode(
  text: string,
  map: string | undefined,
  forWhom: PrincipalOptions,
): Promise<PreToolUseAnswer | null> {
  const event = eventOf(text);
  switch (event.hook_event_name) {
    case 'PreToolUse':
      return beforeTool(event, map, { run: event.session_id, ...forWhom });
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
  map: string | undefined,
  forWhom: PrincipalOptions,
): Promise<PreToolUseAnswer | null> {
  const { tool_name: tool, tool_input: given } = event;
  try {
    const request = requestOf(readMapping(map), { server: SERVER, name: tool, shown: tool }, given);
    const service = governance();
    const execution = await service.authorize({ ...request, ...forWhom, agent: await agentOf(service) });
    if (execution.outcome !== 'authorized') return denied(handledReason(tool, execution));
    keepAuthorized(callOf(event), settings().url, execution);
    return null;
  } catch (error) {
    if (error instanceof ApprovalPendingError) return denied(await pendingReason(tool, error.execution));
    if (error instanceof UnclearCallError) return denied(error.message);
    if (error instanceof GovernanceError) return denied(refusalText(tool, error));
    throw error;
  }
}

/** @throws SettingsError for a key that is nobody's: a hook has no option that says who acts. */
async function agentOf(service: GovernanceClient): Promise<string> {
  const { agentId } = await service.get('/api/v1/me');
  if (agentId !== null) return agentId;
  throw new SettingsError(
    'The key is bound to no agent, so no tool runs. Give this hook the key of its agent: gov keys issue <name> --scopes execute --agent <agent>.',
  );
}

/** The model gets what it would have got from the tool. */
function handledReason(tool: string, { outcome, result, failureReason }: Execution): string {
  const isDone = outcome === 'executed';
  const what = `${isDone ? 'Its result' : 'The reason'}: ${JSON.stringify((isDone ? result : failureReason) ?? null)}`;
  return `The governance service handles ${tool} itself; it is ${outcome}. Do not run it. ${what}`;
}

async function pendingReason(tool: string, execution: Execution): Promise<string> {
  const decisionId = String(execution.decisionId);
  const asked = await waitingText(governance(), execution);
  return (
    `Approval pending: ${tool} needs the decision ${decisionId} (gov approve ${decisionId}) on ${asked} ` +
    'Nothing ran. Once it is approved, use the tool again with exactly the same input.'
  );
}

async function afterTool(event: HookEvent, outcome: Outcome): Promise<void> {
  const own = keepOutcome(callOf(event), outcome);
  if (own === null) return;
  await governance().report(own.execution, outcome);
  forget(own);
  for (const earlier of unreported(own)) await reportEarlier(earlier);
}

/** The service is there again. What it refuses for good is not tried a second time. */
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

/** Identifies one use of a tool. */
function callOf({ session_id: session, tool_use_id: id, tool_name: name, tool_input: given }: HookEvent): string {
  return JSON.stringify([session, id ?? [name, given]]);
}

function denied(reason: string): PreToolUseAnswer {
  return {
    hookSpecificOutput: {
      hookEventName: 'PreToolUse',
      permissionDecision: 'deny',
      permissionDecisionReason: reason,
    },
  };
}

function parsed(text: string): Partial<HookEvent> {
  try {
    const event: unknown = JSON.parse(text);
    if (typeof event === 'object' && event !== null) return event;
  } catch {
    // Said below.
  }
  throw new TypeError('What came on standard input is not the JSON of a hook.');
}

function eventOf(text: string): HookEvent {
  const event = parsed(text);
  const { session_id: session, hook_event_name: name, tool_name: tool, tool_input: given } = event;
  for (const [member, value] of Object.entries({ session_id: session, hook_event_name: name, tool_name: tool })) {
    if (typeof value !== 'string') throw new TypeError(`The hook's event has no ${member}.`);
  }
  if (typeof given !== 'object' || Array.isArray(given)) throw new TypeError("The hook's event has no tool_input.");
  return event as HookEvent;
}
