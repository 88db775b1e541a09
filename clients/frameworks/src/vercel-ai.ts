import type { GovernanceClient } from 'agent-governance-client';
import { jsonSchema, type ToolSet } from 'ai';
import { governedRun, type GovernedOptions, isNotReported, needsApproval, waits } from './governed.js';
import { answerFor, DESCRIPTION, INPUT_SCHEMA, type RequestApprovalOptions } from './people-questions.js';

export type { RequestApprovalOptions } from './people-questions.js';
export { currentPermit, NotPermittedError, type GovernedOptions, type ToolRequest } from './governed.js';

/** The relevant members of a message part. */
interface Part {
  readonly type: string;
  readonly toolCallId?: string;
  readonly approvalId?: string;
}

/** The relevant members of a call in the SDK. */
export interface CallContext {
  readonly toolCallId: string;
  readonly abortSignal?: AbortSignal;
  readonly messages: readonly { readonly content: string | readonly Part[] }[];
  /** The context that the program gave the SDK: in version 6, and in version 7. */
  readonly experimental_context?: unknown;
  readonly context?: unknown;
}

type Execute = (input: unknown, context: CallContext) => unknown;

/**
 * Returns tools that are checked before they run, for `generateText`, `streamText` and agents: `tools:
 * governedTools(governance, tools)`. A call that needs an approval becomes an approval request of the SDK. Answer that
 * request once the decision is made: whatever your answer, only an approval of the service lets the tool run.
 * @throws TypeError for a tool that runs elsewhere, which cannot be held back here
 */
export function governedTools<Tools extends ToolSet>(
  governance: GovernanceClient,
  tools: Tools,
  options: GovernedOptions<CallContext> = {},
): Tools {
  const entries = Object.entries(tools).map(([name, tool]) => [name, governedTool(governance, name, tool, options)]);
  return Object.fromEntries(entries) as Tools;
}

/**
 * Returns a tool by which an agent asks people: `tools: { request_approval: requestApproval(governance,
 * ['role:finance']) }`. Without subjects, any person may answer. An answer authorises nothing.
 */
export function requestApproval(
  governance: GovernanceClient,
  subjects: readonly string[] = ['*'],
  options: RequestApprovalOptions<CallContext> = {},
): ToolSet[string] {
  return {
    description: DESCRIPTION,
    inputSchema: jsonSchema(INPUT_SCHEMA as never),
    execute: (input: unknown, context: CallContext) =>
      answerFor({ governance, subjects, options }, { input, context, signal: context.abortSignal }),
  };
}

function governedTool(
  governance: GovernanceClient,
  name: string,
  tool: ToolSet[string],
  options: GovernedOptions<CallContext>,
): ToolSet[string] {
  const { execute, needsApproval: own } = tool as { execute?: Execute; needsApproval?: boolean | Execute };
  if (execute === undefined)
    throw new TypeError(`The tool ${name} has no execute: it runs where it cannot be governed.`);
  return {
    ...tool,
    needsApproval: async (input: unknown, context: CallContext) => {
      if (typeof own === 'function' ? await own(input, context) : own === true) return true;
      // The SDK checks again after its user has answered; the call itself finds out whether it is approved.
      if (isAnswered(context)) return true;
      // A call that waits by itself need not stop the framework.
      return !waits(options) && (await needsApproval(governance, options, { tool: name, input, context }));
    },
    execute: async (input: unknown, context: CallContext) => {
      const run = (toolInput: unknown): Promise<unknown> => lastOf(execute(toolInput, context));
      try {
        return await governedRun(governance, options, {
          tool: name,
          input,
          context,
          run,
          signal: context.abortSignal,
        });
      } catch (error) {
        // The model gets only the message of an error.
        throw isNotReported(error) ? new Error(error.explained(), { cause: error }) : error;
      }
    },
  } as ToolSet[string];
}

/**
 * True if the last message answers the approval request of this call. Only that message counts, as in the SDK: earlier
 * answers were about calls that may have had the same id.
 */
function isAnswered({ toolCallId, messages }: CallContext): boolean {
  const requests = messages
    .flatMap(partsOf)
    .filter((part) => part.type === 'tool-approval-request' && part.toolCallId === toolCallId)
    .map(({ approvalId }) => approvalId);
  const last = messages.slice(-1).flatMap(partsOf);
  const isDone = last.some((part) => part.type === 'tool-result' && part.toolCallId === toolCallId);
  return (
    !isDone && last.some(({ type, approvalId }) => type === 'tool-approval-response' && requests.includes(approvalId))
  );
}

function partsOf({ content }: CallContext['messages'][number]): readonly Part[] {
  return typeof content === 'string' ? [] : content;
}

/** Returns the last value of a tool, which may yield preliminary ones. */
async function lastOf(result: unknown): Promise<unknown> {
  if (typeof result !== 'object' || result === null || !(Symbol.asyncIterator in result)) return result;
  let last: unknown;
  for await (const value of result as AsyncIterable<unknown>) last = value;
  return last;
}
