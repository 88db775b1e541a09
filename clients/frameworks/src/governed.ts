import type { GovernanceClient, GovernanceError } from 'agent-governance-client';

/** The request to the policies about a tool call. */
export interface ToolRequest {
  readonly action: string;
  readonly resourceType: string;
  readonly resourceId: string;
}

export interface GovernedOptions {
  /** Who acts, by id or name; the agent that the key is bound to unless given. */
  readonly agent?: string;
  /** The tool's name as the action, `tool` and the tool's name as the resource unless given. */
  readonly requestOf?: (tool: string, input: Record<string, unknown>) => ToolRequest;
  /** Seconds that a call waits for its approval. Default: 0, so the model learns at once that it is pending. */
  readonly wait?: number;
}

/** The tool did not run here. The message is for the model: what was refused, why, and what would change that. */
export class NotPermittedError extends Error {
  override readonly name = 'NotPermittedError';

  constructor(
    message: string,
    /** Whether it only waits for an approval: the same call succeeds once that is given. */
    readonly isPending: boolean,
    cause: unknown,
  ) {
    super(message, { cause });
  }
}

/**
 * Runs the call if it is authorised, and reports it.
 * @throws NotPermittedError if it is not authorised; errors of `run`.
 */
export async function governedRun<Result>(
  governance: GovernanceClient,
  options: GovernedOptions,
  tool: string,
  input: unknown,
  run: () => Result | Promise<Result>,
): Promise<Result> {
  const call = { hasRun: false };
  const runOnce = (): Result | Promise<Result> => {
    call.hasRun = true;
    return run();
  };
  try {
    return await governance.guard(requestOf(options, tool, input), runOnce, { wait: options.wait ?? 0 });
  } catch (error) {
    if (call.hasRun || !isGovernanceError(error)) throw error;
    if (error.name === 'OutcomeUnknownError') {
      const text = `It is not known whether ${tool} was carried out: do not call it again before somebody has looked. ${error.explained()}`;
      throw new NotPermittedError(text, false, error);
    }
    const isPending = error.code === 'APPROVAL_PENDING';
    const again = isPending ? ' Once it is approved, call the tool again with exactly the same input.' : '';
    throw new NotPermittedError(`${tool} did not run. ${error.explained()}${again}`, isPending, error);
  }
}

/**
 * Whether a framework should stop and wait for people before it calls a tool: whether the call needs an approval that is not given
 * yet. The request for it is made, so that reviewers see it. A refused call does not need one: its error explains the refusal.
 */
export async function needsApproval(
  governance: GovernanceClient,
  options: GovernedOptions,
  tool: string,
  input: unknown,
): Promise<boolean> {
  try {
    const { agent = (await governance.get('/api/v1/me')).agentId ?? '', ...request } = requestOf(options, tool, input);
    const { effect } = await governance
      .post('/api/v1/policies/evaluate', { body: { agent, ...request } })
      .then(oneAnswer);
    if (effect !== 'require_approval') return false;
    const asked = await governance.post('/api/v1/agents/{id}/execute', { path: { id: agent }, body: request });
    if (asked.outcome === 'authorized') {
      // The policies changed in between. The call itself asks for an authorisation of its own.
      await governance.report(asked, { error: 'It was only asked whether the call needs an approval.' });
    }
    return asked.outcome === 'pending_approval';
  } catch (error) {
    if (isGovernanceError(error)) return false;
    throw error;
  }
}

function requestOf(
  { agent, requestOf: mapped = byName }: GovernedOptions,
  tool: string,
  input: unknown,
): ToolRequest & { readonly agent?: string; readonly parameters: Record<string, unknown> } {
  const parameters = parametersOf(input);
  return { ...mapped(tool, parameters), parameters, ...(agent === undefined ? {} : { agent }) };
}

function byName(tool: string): ToolRequest {
  return { action: tool, resourceType: 'tool', resourceId: tool };
}

/** A value that is not an object becomes a member of its own, so that all of it is recorded and covered by the approval. */
function parametersOf(input: unknown): Record<string, unknown> {
  if (typeof input === 'object' && input !== null && !Array.isArray(input)) return input as Record<string, unknown>;
  return input === undefined ? {} : { input };
}

function oneAnswer<Answer extends object>(answer: Answer): Extract<Answer, { effect: unknown }> {
  if (!('effect' in answer)) throw new TypeError('The answer is not that to one question.');
  return answer as Extract<Answer, { effect: unknown }>;
}

/** By its form, since the client may be loaded as both an ES module and a CommonJS module. */
function isGovernanceError(error: unknown): error is GovernanceError {
  return error instanceof Error && 'code' in error && 'explained' in error && typeof error.explained === 'function';
}
