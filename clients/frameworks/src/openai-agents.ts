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

export { currentPermit, type GovernedOptions, type ToolRequest } from './governed.js';

type Execute = (input: unknown, context: RunContext, details?: { readonly signal?: AbortSignal }) => unknown;
type NeedsApproval = (context: RunContext, input: unknown, callId?: string) => Promise<boolean>;

/**
 * The options of a tool that asks before it runs: `tool(governed(governance, { name, description, parameters, execute }))`. A call
 * that needs an approval interrupts the run. Approve the interruption once the decision is made and run the state again: only an
 * approval of the service lets the tool run.
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
  const asks: NeedsApproval = async (context, input, callId) => {
    const isOwn = typeof own === 'function' ? await (own as NeedsApproval)(context, input, callId) : own === true;
    // A call that waits by itself need not interrupt the run.
    return isOwn || (!waits(options) && (await needsApproval(governance, options, { tool: name, input, context })));
  };
  const runs: Execute = async (input, context, details) => {
    const run = (asked: unknown): unknown => execute(asked, context, details);
    try {
      return await governedRun(governance, options, {
        tool: name,
        input,
        context,
        run,
        signal: details?.signal,
      });
    } catch (error) {
      // An error's message would not reach the model, which would be asked to try again.
      if (error instanceof NotPermittedError) return error.message;
      if (isNotReported(error)) return error.explained();
      throw error;
    }
  };
  return { ...tool, needsApproval: asks, execute: runs };
}
