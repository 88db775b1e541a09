import { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { type HeaderPair, headerPairs } from './request-headers.js';

/** A request that got no answer, and what is known of it. */
export interface SendFailure {
  readonly kind: 'failure';
  /** `not_sent`: no byte of the request was written. `outcome_unknown`: it may have been carried out. */
  readonly reason: 'not_sent' | 'outcome_unknown';
  /** Why, such as `ECONNREFUSED`, `TIMEOUT` or `CANCELLED`. */
  readonly code: string;
}

export interface UpstreamResponse {
  readonly kind: 'response';
  readonly status: number;
  /** The headers as they came. */
  readonly headers: readonly HeaderPair[];
  /** Ends with an error if the answer breaks off. To destroy it ends the connection. */
  readonly body: Readable;
}

export type SendResult = UpstreamResponse | SendFailure;

/** Bytes of an answer that are read ahead of the client. */
const READ_AHEAD_BYTES = 65_536;
const FIRST_FINAL_STATUS = 200;

/**
 * One request and its answer, as undici reports them. `onRequestStart` is called right before the first byte is
 * written, so a request without it was not sent.
 */
export class Exchange implements Dispatcher.DispatchHandler {
  private controller: Dispatcher.DispatchController | null = null;
  private body: Readable | null = null;
  private isSettled = false;

  /** @param settle is called once: with the head of the answer, or with a failure. */
  constructor(private readonly settle: (result: SendResult) => void) {}

  /** Ends the exchange: before the request is written it is never sent, later its connection is closed. */
  cancel(code: string): void {
    this.fail(code);
    const error = new Error(`The exchange has ended: ${code}.`);
    if (this.body === null) this.controller?.abort(error);
    else this.body.destroy(error);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // A second start would send the request twice.
    if (this.isSettled || this.controller !== null) controller.abort(new Error('The request must not be sent.'));
    else this.controller = controller;
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number): void {
    if (status < FIRST_FINAL_STATUS) return;
    this.body = new Readable({
      highWaterMark: READ_AHEAD_BYTES,
      read: () => controller.resume(),
      destroy: (error, callback) => {
        controller.abort(error ?? new Error('The answer is not read to its end.'));
        callback(error);
      },
    });
    // Whoever reads the body gets the error, too; without a reader it must not end the process.
    this.body.on('error', () => undefined);
    const headers = headerPairs(latin1Texts(controller.rawHeaders));
    this.settleOnce({ kind: 'response', status, headers, body: this.body });
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.body?.push(chunk) === false) controller.pause();
  }

  /** Trailers are dropped. */
  onResponseEnd(): void {
    this.body?.push(null);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.fail(codeOf(error));
    this.body?.destroy(error);
  }

  private fail(code: string): void {
    const reason = this.controller === null ? 'not_sent' : 'outcome_unknown';
    this.settleOnce({ kind: 'failure', reason, code });
  }

  private settleOnce(result: SendResult): void {
    if (this.isSettled) return;
    this.isSettled = true;
    this.settle(result);
  }
}

function latin1Texts(rawHeaders: Dispatcher.DispatchController['rawHeaders']): string[] {
  if (!Array.isArray(rawHeaders)) return [];
  return rawHeaders.map((text: Buffer | string) => (typeof text === 'string' ? text : text.toString('latin1')));
}

/** Codes only: the text of an error may contain what was sent. */
function codeOf(error: Error): string {
  const { code } = error as NodeJS.ErrnoException;
  return typeof code === 'string' && /^[A-Z0-9_]{1,60}$/.test(code) ? code : 'UNKNOWN_ERROR';
}
