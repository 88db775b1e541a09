import type { Execution, GovernanceClient } from 'agent-governance-client';
import { type AgentMiddleware, createMiddleware, tool, type ToolCallRequest, ToolMessage } from 'langchain';
import {
  type RequestedCall,
  carryOut,
  continueExecution,
  type GovernedOptions,
  isNotReported,
  NotPermittedError,
  waitForPermission,
} from './governed.js';
import { answerFor, DESCRIPTION, INPUT_SCHEMA, type RequestApprovalOptions, TOOL_NAME } from './people-questions.js';
import { type ApprovalQuestion, type PausedCall, PausedCalls } from './paused-calls.js';

export { currentPermit, NotPermittedError, type GovernedOptions, type ToolRequest } from './governed.js';
export type { RequestApprovalOptions } from './people-questions.js';

export interface MiddlewareOptions extends GovernedOptions<ToolCallRequest['runtime']> {
  /**
   * Interrupts the graph while an approval is pending; this needs a checkpointer. A resumed graph checks again. The
   * value of the interrupt is `{ message, decisionId }`.
   */
  readonly interrupt?: boolean;
}

type Request = Pick<ToolCallRequest, 'toolCall' | 'runtime'>;
/** The resume values that LangGraph keeps for a task. */
interface Scratchpad {
  /** The answers to its interrupts, in their order. */
  readonly resume: readonly unknown[];
  /** The answer that no interrupt has taken yet. */
  readonly nullResume?: unknown;
  /** The index of its last interrupt. */
  readonly interruptCounter: number;
}
type Answer = Awaited<ReturnType<Parameters<NonNullable<AgentMiddleware['wrapToolCall']>>[1]>>;

type Tool = (input: unknown) => Promise<Answer>;

/**
 * A failure that a tool returned as its message. It is thrown so that the service records a failure; the model gets the
 * message.
 */
class ToolFailure extends Error {}

/**
 * Checks every tool call of an agent before it runs: `createAgent({ model, tools, middleware:
 * [governanceMiddleware(governance)] })`. A tool that interrupts the graph itself continues under the same execution if
 * it is resumed with the same middleware.
 */
export function governanceMiddleware(governance: GovernanceClient, options: MiddlewareOptions = {}): AgentMiddleware {
  const pausedCalls = new PausedCalls();
  return createMiddleware({
    name: 'Governance',
    wrapToolCall: async (request, handler) => {
      const key = identityOf(request);
      const { questions, execution: begun } = pausedCalls.find(key) ?? pausedElsewhere(request, options);
      // A resumed graph answers the interrupts of a call in their order: the tool's own come after these.
      for (const question of questions) pause(request, question);
      pausedCalls.forget(key);
      const interrupts = [...questions];
      for (let before = begun; ; before = null) {
        let execution: Execution | null = null;
        try {
          execution = await (before === null
            ? waitForPermission(governance, options, callOf(request))
            : continueExecution(governance, before, request.toolCall.name));
          const tool: Tool = async (input) =>
            handler({ ...request, toolCall: { ...request.toolCall, args: input as typeof request.toolCall.args } });
          return await answerOf(governance, execution, request, tool);
        } catch (error) {
          if (isPause(error)) pausedCalls.keep(key, { questions: interrupts, execution });
          if (!(error instanceof NotPermittedError)) throw error;
          if (!error.isPending || options.interrupt !== true) return message(request, error.message, 'error');
          const question = { message: error.message, decisionId: error.decisionId };
          interrupts.push(question);
          pausedCalls.keep(key, { questions: interrupts, execution: null });
          pause(request, question);
          pausedCalls.forget(key);
        }
      }
    },
  });
}

/**
 * Returns a tool by which an agent asks people: `tools: [requestApproval(governance, ['role:finance'])]`. Without
 * subjects, any person may answer. An answer authorises nothing, so the middleware need not check calls of this tool.
 */
export function requestApproval(
  governance: GovernanceClient,
  subjects: readonly string[] = ['*'],
  options: RequestApprovalOptions<{ readonly signal?: AbortSignal }> = {},
): ReturnType<typeof tool> {
  return tool(
    (input: unknown, config: { readonly signal?: AbortSignal }) =>
      answerFor({ governance, subjects, options }, { input, context: config, signal: config.signal }),
    { name: TOOL_NAME, description: DESCRIPTION, schema: INPUT_SCHEMA as never },
  );
}

/**
 * Returns the state of a call that this middleware has not interrupted. With `interrupt`, earlier resume values of the
 * graph may belong to another middleware. Questions without meaning take them, so that no tool reads them as the
 * answers to its own questions.
 */
function pausedElsewhere({ runtime }: Request, { interrupt = false }: MiddlewareOptions): PausedCall {
  const question = { message: 'Another middleware interrupted the graph.', decisionId: null };
  const questions = interrupt ? Array.from({ length: answersFor(runtime) }, () => question) : [];
  return { questions, execution: null };
}

/**
 * Returns the number of interrupts of the running task that LangGraph can answer at once. No public interface shows
 * this number: the state lists only unanswered interrupts, and an `interrupt` that finds no answer is counted, which
 * shifts the answers of the tool.
 * @throws TypeError if the private place lacks it, too: the tool could take the answer to a question of ours for its
 *   own
 */
function answersFor({ configurable }: Request['runtime']): number {
  const scratchpad = (configurable?.['__pregel_scratchpad'] ?? {}) as Partial<Scratchpad>;
  const { resume, nullResume, interruptCounter } = scratchpad;
  if (!Array.isArray(resume) || typeof interruptCounter !== 'number')
    throw new TypeError(
      'This version of LangGraph does not show how often a graph was resumed. Leave `interrupt` out.',
    );
  return resume.length + (nullResume === undefined ? 0 : 1) - (interruptCounter + 1);
}

/** Returns the tool's answer, or the result of a handler of the service. */
async function answerOf(
  governance: GovernanceClient,
  execution: Execution,
  request: Request,
  tool: Tool,
): Promise<Answer> {
  let answer: Answer | undefined;
  let lastError: Error | undefined;
  const run = async (input: unknown): Promise<unknown> => {
    try {
      answer = await tool(input);
    } catch (error) {
      if (!isParting(error)) throw error;
      lastError = error;
      return null;
    }
    if (!ToolMessage.isInstance(answer)) return null;
    if (answer.status === 'error') throw new ToolFailure(answer.text);
    return answer.content;
  };
  try {
    const result = await carryOut(governance, execution, { ...callOf(request), run, isPause });
    if (lastError !== undefined) throw lastError;
    return answer ?? message(request, JSON.stringify(result ?? null), 'success');
  } catch (error) {
    if (error instanceof ToolFailure && answer !== undefined) return answer;
    // A graph that ends here would be resumed before the call.
    if (!isNotReported(error)) throw error;
    return answer === undefined
      ? message(request, error.explained(), 'error')
      : withNote(answer, request, error.message);
  }
}

function callOf({
  toolCall,
  runtime,
}: Request): RequestedCall<Request['runtime']> & { readonly signal: AbortSignal | undefined } {
  return { tool: toolCall.name, input: toolCall.args, context: runtime, signal: runtime.signal };
}

/** Returns the key of a call; it covers the arguments, which whoever resumes a graph can change. */
function identityOf({ toolCall: { id, name, args }, runtime }: Request): string {
  return JSON.stringify([runtime.configurable?.thread_id, id, name, args]);
}

function message({ toolCall: { name, id = '' } }: Request, content: string, status: 'success' | 'error'): ToolMessage {
  return new ToolMessage({ content, tool_call_id: id, name, status });
}

/** Adds a text for the model to the tool's answer. */
function withNote(answer: Answer, { toolCall }: Request, text: string): Answer {
  for (const message of messagesIn(answer)) {
    if (message.tool_call_id !== toolCall.id) continue;
    const { content } = message;
    message.content = typeof content === 'string' ? `${content}\n${text}` : [...content, { type: 'text', text }];
  }
  return answer;
}

/** Returns the messages of an answer; a command has them in its update. */
function messagesIn(answer: Answer): ToolMessage[] {
  if (ToolMessage.isInstance(answer)) return [answer];
  const { messages } = (answer.update ?? {}) as { messages?: unknown };
  return [messages].flat().filter((message) => ToolMessage.isInstance(message));
}

/** True for the errors by which LangGraph interrupts. */
function isPause(thrown: unknown): boolean {
  return thrown instanceof Error && 'is_bubble_up' in thrown && thrown.is_bubble_up === true && !isParting(thrown);
}

/** True if a tool ended by leading on to another graph. */
function isParting(thrown: unknown): thrown is Error {
  return thrown instanceof Error && thrown.name === 'ParentCommand';
}

/** Ends the run here; returns at once if the run was resumed. @throws the interrupt of LangGraph. */
function pause({ runtime: { interrupt } }: Request, question: ApprovalQuestion): void {
  if (interrupt === undefined) throw new TypeError('This version of LangChain cannot interrupt from a middleware.');
  interrupt(question);
}
