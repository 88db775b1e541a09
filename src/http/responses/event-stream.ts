import { ApiOkResponse, type HeadersObject } from '@nestjs/swagger';
import type { Response } from 'express';
import { once } from 'node:events';
import { onAnswerOver } from './response-end';
import { HeaderParameter } from '../request/routes';

const TYPE = 'text/event-stream';
/** Unread bytes above which the client counts as too slow for live events. */
const MAX_UNREAD_BYTES = 1024 * 1024;
/** Milliseconds of silence after which a comment shows proxies that the stream is alive. */
const MAX_SILENCE_MS = 15_000;
/** Milliseconds between checks for such a silence. */
const INTERVAL_MS = 250;
const COMMENT = ':\n\n';

/** Documents a response of server-sent events, which has no schema as a whole. */
export function ApiEventStream(headers: HeadersObject): MethodDecorator {
  return ApiOkResponse({
    description:
      'Events: `id` is the sequence, `event` the action, and `data` the audit entry, as `GET /audit` shows it.',
    headers: { ...headers },
    content: { [TYPE]: { schema: { type: 'string', format: 'binary' } } },
  });
}

/** A response of server-sent events, which lasts until one side ends it. */
export class EventStream {
  private readonly over = new AbortController();
  /** Aborted when the client has left, or the stream has ended. */
  readonly signal: AbortSignal = this.over.signal;
  private lastSent = performance.now();

  constructor(private readonly response: Response) {
    onAnswerOver(response, () => this.over.abort());
  }

  /** Sends the headers, which are the whole response to a HEAD. */
  open(headers: Readonly<Record<string, string>>): void {
    const { response } = this;
    // Proxies must not buffer the stream.
    response.statusCode = 200;
    const all = { ...headers, 'Content-Type': TYPE, 'X-Accel-Buffering': 'no' };
    for (const [name, value] of Object.entries(all)) response.setHeader(name, value);
    if (response.req.method === 'HEAD') this.end();
    else response.flushHeaders();
    const timer = setInterval(() => this.keepAlive(), INTERVAL_MS).unref();
    onAnswerOver(response, () => clearInterval(timer));
  }

  /** Sends events. Closes the connection if more is unread than a live client would leave. */
  send(events: Buffer): void {
    this.write(events);
    if (this.response.writableLength > MAX_UNREAD_BYTES) this.response.destroy();
  }

  /** Sends events, and waits until the client has read them or the stream is over. */
  async sendInTime(events: Buffer): Promise<void> {
    if (this.write(events) || this.signal.aborted) return;
    await once(this.response, 'drain', { signal: this.signal }).catch(() => undefined);
  }

  /** Sends a comment if one is due. No comment can be sent while the client reads nothing. */
  private keepAlive(): void {
    if (performance.now() - this.lastSent < MAX_SILENCE_MS || this.response.writableLength > 0) return;
    this.write(COMMENT);
  }

  end(): void {
    this.over.abort();
    this.response.end();
  }

  /** Resets the connection if something cannot be sent. */
  abort(): void {
    this.response.destroy();
  }

  private write(text: string | Buffer): boolean {
    if (this.signal.aborted) return false;
    this.lastSent = performance.now();
    return this.response.write(text);
  }
}

const DIGITS = /^\d{1,16}$/;

/** The sequence in the request's `Last-Event-ID`, which event stream clients send when they reconnect. */
export function LastEventId(): ParameterDecorator {
  return HeaderParameter({
    name: 'Last-Event-ID',
    description: '`id` of the last event that was received: the stream begins after it. Takes precedence over `after`.',
    expected: 'must be the id of an event: a sequence, in digits only',
    read: eventIdIn,
  });
}

function eventIdIn(header = ''): number | undefined {
  const sequence = DIGITS.test(header) ? Number(header) : NaN;
  return Number.isSafeInteger(sequence) ? sequence : undefined;
}
