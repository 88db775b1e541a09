import type { GovernanceClient } from 'agent-governance-client';
import { type AgentMiddleware, createMiddleware, ToolMessage } from 'langchain';
import { governedRun, type GovernedOptions, NotPermittedError } from './governed.js';

export { NotPermittedError, type GovernedOptions, type ToolRequest } from './governed.js';

export interface MiddlewareOptions extends GovernedOptions {
  /** Interrupts the graph while an approval is pending, which needs a checkpointer. Resumed, it asks again. */
  readonly interrupt?: boolean;
}

/** The failure that a tool reports, so that it is recorded as one; the model gets its message. */
class ToolFailure extends Error {}

/** Lets every tool of an agent ask before it runs: `createAgent({ model, tools, middleware: [governanceMiddleware(governance)] })`. */
export function governanceMiddleware(governance: GovernanceClient, options: MiddlewareOptions = {}): AgentMiddleware {
  return createMiddleware({
    name: 'Governance',
    wrapToolCall: async (request, handler) => {
      const { name, args, id = '' } = request.toolCall;
      let answer: Awaited<ReturnType<typeof handler>> | undefined;
      const run = async (): Promise<unknown> => {
        answer = await handler(request);
        if (!ToolMessage.isInstance(answer)) return null;
        if (answer.status === 'error') throw new ToolFailure(answer.text);
        return answer.content;
      };
      for (;;) {
        try {
          const result = await governedRun(governance, options, name, args, run);
          return answer ?? new ToolMessage({ content: JSON.stringify(result ?? null), tool_call_id: id, name });
        } catch (error) {
          if (error instanceof ToolFailure && answer !== undefined) return answer;
          if (!(error instanceof NotPermittedError)) throw error;
          if (!error.isPending || options.interrupt !== true) {
            return new ToolMessage({ content: error.message, tool_call_id: id, name, status: 'error' });
          }
          pause(request.runtime, error.message);
        }
      }
    },
  });
}

/** Ends the run here, or returns when it is resumed. @throws the interrupt of LangGraph. */
function pause({ interrupt }: { interrupt?: (value: string) => unknown }, message: string): void {
  if (interrupt === undefined) throw new TypeError('This version of LangChain cannot interrupt from a middleware.');
  interrupt(message);
}
