import type { RunContext } from '@openai/agents';
import type { GovernanceClient } from 'agent-governance-client';
import {
  governedRun,
  type GovernedOptions,
  isNotReported,
  needsApproval,
  NotPermittedError,
  waits,
} from './governed.js';
import { answerFor, DESCRIPTION, INPUT_SCHEMA, type RequestApprovalOptions, TOOL_NAME } from './people-questions.js';

export type { RequestApprovalOptions } from './people-questions.js';
export { currentPermit, type GovernedOptions, type ToolRequest } from './governed.js';

type Execute = (input: unknown, context: RunContext, details?: { readonly signal?: AbortSignal }) => unknown;
type NeedsApproval = (context: RunContext, input: unknown, callId?: string) => Promise<boolean>;

/**
 * Returns the options of a tool that is checked before it runs: `tool(governed(governance,
 * { name, description, parameters, execute }))`. A call that needs an approval interrupts the run. Approve the
 * interruption once the decision is made and run the state again: only an approval of the service lets the tool run.
 */
export function governed<Options extends { readonly name: string; readonly execute: (...words: never[]) => unknown }>(
  governance: GovernanceClient,
  tool: Options,
  options: GovernedOptions<RunContext> = {},
): Options {
  const {
    name,
    execute,
    needsApproval: own,
  } = tool as unknown as { name: string; execute: Execute; needsApproval?: unknown };
  const approvalCheck: NeedsApproval = async (context, input, callId) => {
    const isOwn = typeof own === 'function' ? await (own as NeedsApproval)(context, input, callId) : own === true;
    // A call that waits by itself need not interrupt the run.
    return isOwn || (!waits(options) && (await needsApproval(governance, options, { tool: name, input, context })));
  };
  const runs: Execute = async (input, context, details) => {
    const run = (toolInput: unknown): unknown => execute(toolInput, context, details);
    try {
      return await governedRun(governance, options, {
        tool: name,
        input,
        context,
        run,
        signal: details?.signal,
      });
    } catch (error) {
      // The framework does not pass the message of an error to the model, but tells it to try again.
      if (error instanceof NotPermittedError) return error.message;
      if (isNotReported(error)) return error.explained();
      throw error;
    }
  };
  return { ...tool, needsApproval: approvalCheck, execute: runs };
}

/**
 * Returns the options of a tool by which an agent asks people: `tool(requestApproval(governance, ['role:finance']))`.
 * Without subjects, any person may answer. An answer authorises nothing.
 */
export function requestApproval(
  governance: GovernanceClient,
  subjects: readonly string[] = ['*'],
  options: RequestApprovalOptions<RunContext | undefined> = {},
): PeopleTool {
  const { type, properties, required } = INPUT_SCHEMA;
  return {
    name: TOOL_NAME,
    description: DESCRIPTION,
    parameters: { type, properties, required: [...required], additionalProperties: true },
    strict: false,
    execute: (input, context, details) =>
      answerFor({ governance, subjects, options }, { input, context, signal: details?.signal }),
  };
}

/** Options of the framework's `tool`. */
interface PeopleTool {
  readonly name: string;
  readonly description: string;
  readonly parameters: {
    readonly type: 'object';
    readonly properties: (typeof INPUT_SCHEMA)['properties'];
    readonly required: string[];
    readonly additionalProperties: true;
  };
  readonly strict: false;
  readonly execute: (
    input: unknown,
    context?: RunContext,
    details?: { readonly signal?: AbortSignal },
  ) => Promise<string>;
}
