/** Whose work it is, and when nobody waits for it any more. */
export interface WorkOwner {
  readonly agentId: string;
  /** Fires when the client has left. */
  readonly left?: AbortSignal;
}

/** Maps agents to the work that goes on at their next turn. The agents take turns, however much one of them sends. */
const waiting = new Map<string, (() => void)[]>();

/**
 * Runs steps to their end, in turns with those of others: one step at a time, and other events in between.
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
  // The agent goes behind the others.
  if (others.length > 0) waiting.set(agentId, others);
  resolve?.();
  if (waiting.size > 0) setImmediate(runNext);
}
