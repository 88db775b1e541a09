import { AsyncLocalStorage } from 'node:async_hooks';

/** The handlers that run for the messages of one HTTP request. */
const handlers = new AsyncLocalStorage<Set<Promise<unknown>>>();

/**
 * Serves an HTTP request, and resolves once its messages are handled, too: clients of a session may leave while their
 * calls go on.
 */
export async function untilHandled(serve: () => Promise<void>): Promise<void> {
  const running = new Set<Promise<unknown>>();
  try {
    await handlers.run(running, serve);
  } finally {
    while (running.size > 0) await Promise.allSettled(running);
  }
}

/** Runs the handler of a message as a part of the HTTP request that brought it. */
export async function duringHandler<Result>(handle: () => Promise<Result>): Promise<Result> {
  const running = handlers.getStore();
  const result = handle();
  running?.add(result);
  try {
    return await result;
  } finally {
    running?.delete(result);
  }
}
