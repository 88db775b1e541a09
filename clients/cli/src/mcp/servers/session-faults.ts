import { type Client, SdkHttpError } from '@modelcontextprotocol/client';

/** Statuses with which servers refuse a session that they have forgotten: 404 by the protocol, 400 by custom. */
const SESSION_REFUSALS: ReadonlySet<number> = new Set([400, 404]);
/** Time in milliseconds for the answer to a ping. */
const MAX_PING_MS = 10_000;

/**
 * True if a server refused a request because it has forgotten the session. Some servers answer 400 instead of 404: a
 * ping tells the session's 400 from that of a request, which must not be sent twice.
 */
export async function isSessionForgotten(client: Client, error: unknown): Promise<boolean> {
  if (!(error instanceof SdkHttpError) || !SESSION_REFUSALS.has(error.status)) return false;
  // A 404 without a session is the server's answer to the request.
  if (client.transport?.sessionId === undefined) return false;
  if (error.status === 404) return true;
  return client.ping({ timeout: MAX_PING_MS }).then(
    () => false,
    (refusal: unknown) => refusal instanceof SdkHttpError && SESSION_REFUSALS.has(refusal.status),
  );
}

/** Returns the error of a request that is not repeated in a new session. */
export function forgottenSession(error: unknown): Error {
  const message = error instanceof Error ? error.message : String(error);
  return new Error(`${message} (The server has forgotten the session. Call again: the call goes in a new one.)`);
}

/** @throws the reason of the signal if it comes first, or has come */
export async function beforeAbort<Result>(result: Promise<Result>, signal: AbortSignal): Promise<Result> {
  const settled = new AbortController();
  const abortion = new Promise<never>((_, reject) => {
    const abort = (): void => reject(signal.reason as Error);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true, signal: settled.signal });
  });
  return Promise.race([abortion, result]).finally(() => settled.abort());
}
