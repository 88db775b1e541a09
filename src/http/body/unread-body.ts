import type { Response } from 'express';
import { finished } from 'node:stream';
import type { ServiceRequest } from '../request/service-request';
import { announcedLength, announcesBody } from './body-reader';

/** A body of up to this many bytes is received and discarded, and its connection stays open. */
const SMALL = 64 * 1024;
/**
 * Of a larger one, this many bytes are received, for this many milliseconds, before its connection ends: most clients
 * send as much at once.
 */
const MOST_BYTES = 1024 * 1024;
const LONGEST = 1_000;

/** Whether some of the request's body may still arrive. */
export function isBodyToCome(request: ServiceRequest): boolean {
  return !request.complete && request.isCut !== true && announcesBody(request);
}

/**
 * Answers before the body has arrived. The answer is sent at once; it is ended only when the body has been received and
 * discarded, or its bounds are reached. Node.js would otherwise close the connection while the client still sends, and
 * the reset that follows could cost the client the answer. A client that leaves ends it at once.
 */
export async function answerBeforeBody(request: ServiceRequest, response: Response, answer: object): Promise<void> {
  const text = JSON.stringify(answer);
  const body = discarded(request, response);
  response.set({
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': String(Buffer.byteLength(text)),
  });
  response.flushHeaders();
  response.write(text);
  await body;
  response.end();
}

/**
 * Receives the rest of a body and discards it; beyond the bound of bytes nothing more is read. Resolves at its end, when
 * the time is over, or when the client has left. The connection ends with the answer unless the body is known to be small.
 */
export function discarded(request: ServiceRequest, response: Response): Promise<void> {
  if (!isSmall(request)) response.setHeader('Connection', 'close');
  let bytes = 0;
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, LONGEST).unref();
    finished(request, () => {
      clearTimeout(timer);
      resolve();
    });
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > MOST_BYTES) request.pause();
    });
    request.resume();
  });
}

/** A client that waits for `100 Continue` sends no body now: what it sends next would be taken for one. */
function isSmall({ headers, expectsContinue }: ServiceRequest): boolean {
  const length = announcedLength(headers['content-length']);
  return length > 0 && length <= SMALL && expectsContinue !== true;
}
