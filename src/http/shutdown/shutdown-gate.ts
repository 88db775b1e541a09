import { Injectable } from '@nestjs/common';
import type { ServerResponse } from 'node:http';

/** Knows which requests are being served, and lets no more in once the service begins to stop. */
@Injectable()
export class ShutdownGate {
  private readonly closing = new AbortController();
  private readonly unanswered = new Set<ServerResponse>();
  private onEmpty: (() => void) | null = null;

  /** Aborted when the service begins to stop: whoever works for long answers now, as far as he got. */
  get signal(): AbortSignal {
    return this.closing.signal;
  }

  get isClosed(): boolean {
    return this.closing.signal.aborted;
  }

  /** Counts a request until its response is sent or its client is gone. */
  admit(response: ServerResponse): void {
    this.unanswered.add(response);
    response.once('close', () => this.leave(response));
  }

  /** From now on requests are refused; what is being answered ends its connection. */
  close(): void {
    this.closing.abort();
    for (const response of this.unanswered) {
      if (!response.headersSent) response.setHeader('Connection', 'close');
    }
  }

  /** Resolves once every admitted request is answered. */
  whenEmpty(): Promise<void> {
    return new Promise((resolve) => {
      this.onEmpty = resolve;
      this.resolveWhenEmpty();
    });
  }

  private leave(response: ServerResponse): void {
    this.unanswered.delete(response);
    this.resolveWhenEmpty();
  }

  private resolveWhenEmpty(): void {
    if (this.unanswered.size === 0) this.onEmpty?.();
  }
}
