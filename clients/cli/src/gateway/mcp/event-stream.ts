import type { RunningCalls } from '../../mcp/running-calls.js';
import { Refusal, unavailable } from '../calls/refusal.js';
import type { IdentifiedCaller } from './mcp-caller.js';

/** Milliseconds between two checks of the caller of an open stream: no event tells that a token has ended. */
const CHECK_MS = 30_000;

/** A stream on which an MCP server tells a client what happens, for as long as the client listens. */
export interface EventStream {
  readonly caller: IdentifiedCaller;
  /** Name of the upstream. */
  readonly upstream: string;
  readonly calls: RunningCalls;
}

/**
 * Runs a stream with a signal that fires once its agent is stopped or suspended, or its key has ended.
 * @throws Refusal 403 if it is so already: clients begin a stream that has ended again at once; 503 if the service does
 *   not answer
 */
export function duringStream<Result>(
  { caller, upstream, calls }: EventStream,
  run: (stopped: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const call = { ...caller, action: 'listen', resourceType: 'mcp', resourceId: upstream };
  return calls.during(call, async (stopped) => {
    await calls.checkCall(call).catch((error: unknown) => {
      throw error instanceof Refusal ? error : unavailable('The governance service does not answer now.');
    });
    if (stopped.aborted) throw new Refusal(403, 'stopped', 'The agent is stopped, or its key has ended.');
    // A service that does not answer is asked again later. Calls of the same token go on: their client renews it with
    // its next request.
    const check = (): void => void calls.checkCall(call).catch(() => undefined);
    const timer = setInterval(check, CHECK_MS).unref();
    try {
      return await run(stopped);
    } finally {
      clearInterval(timer);
    }
  });
}
