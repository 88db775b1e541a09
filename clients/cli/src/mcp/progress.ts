import type { Progress, ServerContext } from '@modelcontextprotocol/server';

/** Milliseconds between two notifications of a call that waits. */
const EVERY = 5_000;

/** The progress of calls, by the signals of their requests. */
const calls = new WeakMap<AbortSignal, CallProgress>();

/** The progress of one call: first of the wait, then of the tool. It only rises, as the protocol demands. */
export class CallProgress {
  private lastProgress = 0;

  private constructor(private readonly context: ServerContext) {}

  /** Returns the progress of a request. A call whose client was questioned keeps its progress: it is one request with one token. */
  static from(context: ServerContext): CallProgress {
    const { signal } = context.mcpReq;
    const progress = calls.get(signal) ?? new CallProgress(context);
    calls.set(signal, progress);
    return progress;
  }

  /** Reports repeatedly why nothing happens yet, until it is stopped. */
  startWaiting(message: string): { stop: () => void } {
    const say = (): void => this.send(this.lastProgress + 1, { message });
    say();
    const timer = setInterval(say, EVERY);
    return { stop: () => clearInterval(timer) };
  }

  /** Returns a function that adds the server's progress to that of the wait; null if the client requested none. */
  ofCall(): ((progress: Progress) => void) | null {
    if (this.token === undefined) return null;
    const base = this.lastProgress;
    return ({ progress, total, message }) =>
      this.send(base + progress, {
        ...(total === undefined ? {} : { total: base + total }),
        ...(message === undefined ? {} : { message }),
      });
  }

  private get token(): string | number | undefined {
    return this.context.mcpReq._meta?.progressToken;
  }

  private send(progress: number, details: { total?: number; message?: string }): void {
    const { token: progressToken } = this;
    if (progressToken === undefined || progress <= this.lastProgress) return;
    this.lastProgress = progress;
    // A client that has disconnected does not need it; its signal ends the call.
    this.context.mcpReq
      .notify({ method: 'notifications/progress', params: { progressToken, progress, ...details } })
      .catch(() => undefined);
  }
}
