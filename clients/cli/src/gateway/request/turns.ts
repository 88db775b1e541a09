/** The agent for which work is done, and the signal of the client that waits for it. */
export interface WorkOwner {
  readonly agentId: string;
  /** Fires when the client has left. */
  readonly left?: AbortSignal;
}

/** Maps agents to the steps that wait for their next turn. Agents take turns, however much one of them sends. */
const waiting = new Map<string, (() => void)[]>();

/**
 * Runs steps to their end, one in each turn of the agent; other agents and events have their turns in between.
 * @throws the reason of `left` once the client has left
 */
export async function inTurns<Result>(
  steps: Generator<undefined, Result, undefined>,
  { agentId, left }: WorkOwner,
): Promise<Result> {
  for (;;) {
    left?.throwIfAborted();
    const step = steps.next();
    if (step.done === true) return step.value;
    await turnOf(agentId);
  }
}

/** Resolves at the next turn of an agent, for one step of its work. */
export function turnOf(agentId: string): Promise<void> {
  return new Promise((resolve) => {
    if (waiting.size === 0) setImmediate(runNext);
    const ofAgent = waiting.get(agentId);
    if (ofAgent === undefined) waiting.set(agentId, [resolve]);
    else ofAgent.push(resolve);
  });
}

function runNext(): void {
  const [next] = waiting;
  if (next === undefined) return;
  const [agentId, [resolve, ...others]] = next;
  waiting.delete(agentId);
  // The agent goes to the end of the queue.
  if (others.length > 0) waiting.set(agentId, others);
  resolve?.();
  if (waiting.size > 0) setImmediate(runNext);
}
