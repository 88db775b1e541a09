import { StreamableFile } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import type { Application, Response } from 'express';
import { createServer, IncomingMessage, ServerResponse } from 'node:http';
import { type AnswerMemory, SMALL_ANSWER } from './answer-memory';
import { isDivisible, jsonParts } from './json-parts';
import { withRecordHeaders } from './response-headers';
import type { ServiceRequest } from '../request/service-request';
import { Slices } from '../../shared/slices';

/** Statuses that Express answers without a body. */
const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304]);
/** Characters that are written together when an answer is rendered in chunks. */
const CHUNK = 64 * 1024;
const READS: ReadonlySet<string> = new Set(['GET', 'HEAD']);
const JSON_TYPE = 'application/json; charset=utf-8';

/**
 * Express's adapter with two additions: headers derived from records, and a fast path for ordinary answers, for which
 * Express would read four settings and parse and render the content type each time. Everything else is left to Express.
 */
export class JsonAdapter extends ExpressAdapter {
  private room: AnswerMemory | null = null;

  override initHttpServer(): void {
    const application: Application = this.getInstance();
    this.httpServer = createServer(messageClasses(application), application);
  }

  /** From now on large answers are counted there, and refused if there is no room. */
  holdAnswersIn(room: AnswerMemory): void {
    this.room = room;
  }

  override reply(response: Response, answer: unknown, statusCode?: number): unknown {
    const sent: unknown =
      statusCode === undefined ? this.replyOfRoute(response, answer) : super.reply(response, answer, statusCode);
    this.room?.hold(response);
    return sent;
  }

  /** Only exception filters pass a status: a route's has been set before. */
  private replyOfRoute(response: Response, answer: unknown): unknown {
    const request = response.req as ServiceRequest;
    if (READS.has(request.method)) this.room?.refuseLarge(request, answer);
    const body = withRecordHeaders(answer, request, response);
    if (!isJson(response, body)) return super.reply(response, body);
    if (isDivisible(body)) return this.replyInParts(response, body);
    if (!isOrdinary(request)) return super.reply(response, body);
    const text = JSON.stringify(body);
    response.setHeader('Content-Type', JSON_TYPE);
    // A long text is encoded only once, and need not be kept.
    const bytes = text.length > SMALL_ANSWER ? Buffer.from(text) : text;
    response.setHeader('Content-Length', Buffer.byteLength(bytes));
    return response.end(bytes);
  }

  /** In chunks, so that other requests are not blocked. */
  private async replyInParts(response: Response, answer: object): Promise<unknown> {
    const request = response.req as ServiceRequest;
    const chunks = await renderedChunks(jsonParts(answer));
    request.leaveList?.();
    const length = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
    response.setHeader('Content-Type', JSON_TYPE);
    response.setHeader('Content-Length', length);
    if (request.method === 'HEAD') return response.end();
    this.room?.hold(response, length);
    const last = chunks.pop();
    const slices = new Slices();
    for (const chunk of chunks) {
      response.write(chunk);
      await slices.next();
    }
    return response.end(last);
  }
}

async function renderedChunks(parts: Generator<string>): Promise<Buffer[]> {
  const slices = new Slices();
  const chunks: Buffer[] = [];
  let text = '';
  for (const part of parts) {
    text += part;
    if (text.length < CHUNK) continue;
    chunks.push(Buffer.from(text));
    text = '';
    await slices.next();
  }
  return [...chunks, Buffer.from(text)];
}

/** Whether the body is an object to be sent as JSON, with a status that has a body. */
function isJson(response: Response, body: unknown): boolean {
  return (
    typeof body === 'object' &&
    body !== null &&
    !Buffer.isBuffer(body) &&
    !(body instanceof StreamableFile) &&
    !(body instanceof Error) &&
    !WITHOUT_BODY.has(response.statusCode) &&
    !response.hasHeader('Content-Type')
  );
}

/** Whether the request wants the body and has no cached copy. */
function isOrdinary({ method, headers }: ServiceRequest): boolean {
  return method !== 'HEAD' && headers['if-none-match'] === undefined && headers['if-modified-since'] === undefined;
}

/** The classes with which Node's server creates requests and responses. */
interface MessageClasses {
  readonly IncomingMessage: typeof IncomingMessage;
  readonly ServerResponse: typeof ServerResponse;
}

/**
 * Classes whose requests and responses are an Express application's own from the start. Express would change the
 * prototype of each one on arrival, which defeats V8's shared shapes: most of what Express costs.
 */
export function messageClasses(application: Application): MessageClasses {
  class ExpressRequest extends IncomingMessage {}
  class ExpressResponse<Request extends IncomingMessage> extends ServerResponse<Request> {}
  // Documented for extending Express's API, but missing from its types.
  const prototypes = application as unknown as { request: object; response: object };
  Object.setPrototypeOf(ExpressRequest.prototype, prototypes.request);
  Object.setPrototypeOf(ExpressResponse.prototype, prototypes.response);
  prototypes.request = ExpressRequest.prototype;
  prototypes.response = ExpressResponse.prototype;
  // The pipeline sets it on requests that have one; Express would parse it each time it is read.
  Object.defineProperty(ExpressRequest.prototype, 'query', { value: Object.freeze({}), writable: true });
  return { IncomingMessage: ExpressRequest, ServerResponse: ExpressResponse };
}
