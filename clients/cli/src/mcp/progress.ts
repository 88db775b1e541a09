import type { Progress, ServerContext } from '@modelcontextprotocol/server';

/** Milliseconds between two notifications of a call that waits. */
const EVERY = 5_000;

/** By the signals of their requests. */
const calls = new WeakMap<AbortSignal, CallProgress>();

/** The progress of one call: first of the wait, then of what runs. It only ever rises, as the protocol asks. */
export class CallProgress {
  private reached = 0;

  private constructor(private readonly context: ServerContext) {}

  /** The same one where its client was asked in between: with a handshake that is within one request, which has one token. */
  static of(context: ServerContext): CallProgress {
    const { signal } = context.mcpReq;
    const progress = calls.get(signal) ?? new CallProgress(context);
    calls.set(signal, progress);
    return progress;
  }

  /** Reports repeatedly why nothing happens yet, until it is stopped. */
  startWaiting(message: string): { stop: () => void } {
    const say = (): void => this.send(this.reached + 1, { message });
    say();
    const timer = setInterval(say, EVERY);
    return { stop: () => clearInterval(timer) };
  }

  /** Passes on what the server reports, above what was reached while the call waited; null if the client asked for none. */
  ofCall(): ((progress: Progress) => void) | null {
    if (this.token === undefined) return null;
    const base = this.reached;
    return ({ progress, total, message }) =>
      this.send(base + progress, {
        ...(total === undefined ? {} : { total: base + total }),
        ...(message === undefined ? {} : { message }),
      });
  }

  private get token(): string | number | undefined {
    return this.context.mcpReq._meta?.progressToken;
  }

  private send(progress: number, rest: { total?: number; message?: string }): void {
    const { token: progressToken } = this;
    if (progressToken === undefined || progress <= this.reached) return;
    this.reached = progress;
    // A client that has disconnected does not need it; its signal ends the call.
    this.context.mcpReq
      .notify({ method: 'notifications/progress', params: { progressToken, progress, ...rest } })
      .catch(() => undefined);
  }
}
