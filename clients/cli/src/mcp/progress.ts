import type { Progress, ServerContext } from '@modelcontextprotocol/server';
import { UnreadNotifications } from './unread-notifications.js';

/** Milliseconds between two notifications of a call that waits. */
const INTERVAL_MS = 5_000;
/**
 * Maximum number of notifications of a call in a second, and of those that its client has not read: others are dropped.
 */
const MAX_PER_SECOND = 100;
const MAX_UNREAD = 10;
const MAX_UNREAD_BYTES = 64 * 1024;
/** Maximum number of characters of a server's message; the rest is cut off. */
const MAX_MESSAGE_CHARACTERS = 1_000;

/** The progress of calls, by the signals of their requests. */
const calls = new WeakMap<AbortSignal, CallProgress>();

/**
 * The progress of one call: first of the wait, then of the tool. It only rises, as the protocol demands. A server may
 * report progress for ever, with messages of any size.
 */
export class CallProgress {
  private lastProgress = 0;
  private readonly unread = new UnreadNotifications(MAX_UNREAD, MAX_UNREAD_BYTES);
  /** Milliseconds at which the present second began, and the notifications since. */
  private secondStart = 0;
  private sentInSecond = 0;

  private constructor(private readonly context: ServerContext) {}

  /**
   * Returns the progress of a request. A call whose client was questioned keeps its progress: it is one request with
   * one token.
   */
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
    const timer = setInterval(say, INTERVAL_MS);
    return { stop: () => clearInterval(timer) };
  }

  /** Returns a function that adds the server's progress to that of the wait; null if the client requested none. */
  ofCall(): ((progress: Progress) => void) | null {
    if (this.token === undefined) return null;
    const base = this.lastProgress;
    return ({ progress, total, message }) =>
      this.send(base + progress, {
        ...(total === undefined ? {} : { total: base + total }),
        ...(message === undefined ? {} : { message: shortened(message) }),
      });
  }

  private get token(): string | number | undefined {
    return this.context.mcpReq._meta?.progressToken;
  }

  private send(progress: number, details: { total?: number; message?: string }): void {
    const { token: progressToken } = this;
    if (progressToken === undefined || progress <= this.lastProgress) return;
    const now = performance.now();
    if (now - this.secondStart >= 1_000) [this.secondStart, this.sentInSecond] = [now, 0];
    if (this.sentInSecond >= MAX_PER_SECOND) return;
    const params = { progressToken, progress, ...details };
    const notification = { method: 'notifications/progress' as const, params };
    // A client that has disconnected does not need it; its signal ends the call.
    if (!this.unread.send(notification, (sent) => this.context.mcpReq.notify(sent))) return;
    this.sentInSecond += 1;
    this.lastProgress = progress;
  }
}

function shortened(message: string): string {
  return message.length > MAX_MESSAGE_CHARACTERS ? `${message.slice(0, MAX_MESSAGE_CHARACTERS)}…` : message;
}
