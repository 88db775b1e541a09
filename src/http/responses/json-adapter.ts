import { StreamableFile } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import type { Application, Response } from 'express';
import { IncomingMessage, ServerResponse } from 'node:http';
import { type DomainError, unavailable } from '../../core/errors/domain-error';
import { JsonText } from '../../core/json/json-text';
import type { Gate } from '../../core/concurrency/gate';
import { leaveGates } from '../gates';
import { onAnswerOver } from './response-end';
import { SCIM_TYPE } from './scim-response';
import { createHttpServer, type MessageClasses, TURN } from '../server/http-server';
import { isCurrentCopy } from '../request/precondition';
import type { ServiceRequest } from '../request/service-request';

/** Header of an answer that replays the answer to an earlier request. */
export const REPLAYED_HEADER = 'Idempotent-Replayed';

/** Statuses for which Express sends no body. */
const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304]);
/**
 * Largest response in bytes that needs no room. The number of connections limits such responses, and large responses
 * cannot crowd them out.
 */
const SMALL_ANSWER = 16 * 1024;
const READS: ReadonlySet<string> = new Set(['GET', 'HEAD']);
export const JSON_TYPE = 'application/json; charset=utf-8';

/**
 * Express's adapter with two additions: headers derived from records, and a fast path for ordinary answers, for which
 * Express would read four settings and parse and render the content type each time. Everything else is left to Express.
 */
export class JsonAdapter extends ExpressAdapter {
  private answers: Gate | null = null;

  override initHttpServer(): void {
    const application: Application = this.getInstance();
    this.httpServer = createHttpServer(messageClasses(application)).on(TURN, application);
  }

  /**
   * Counts large responses in this gate from now on, until their clients have read them. Without room a read is
   * refused.
   */
  holdAnswersIn(gate: Gate): void {
    this.answers = gate;
  }

  override reply(response: Response, content: unknown, statusCode?: number): unknown {
    try {
      // Only exception filters pass a status; the status of a route is already set.
      if (statusCode !== undefined) return super.reply(response, content, statusCode);
      return this.replyOfRoute(response, content);
    } finally {
      leaveGates(response.req as ServiceRequest);
    }
  }

  private replyOfRoute(response: Response, answer: unknown): unknown {
    const request = response.req as ServiceRequest;
    // Reading may have taken long, so the caller is checked again.
    const refusal = READS.has(request.method) ? (request.caller?.refusal() ?? null) : null;
    if (refusal !== null) throw refusal;
    const body = withRecordHeaders(answer, request, response);
    // Express would take `*` for a copy of an answer that has no ETag to compare it by.
    if (!response.hasHeader('ETag')) delete request.headers['if-none-match'];
    if (!isJson(response, body)) return super.reply(response, body);
    const text = body instanceof JsonText ? body.text : JSON.stringify(body);
    response.setHeader('Content-Type', request.traits.isScim ? SCIM_TYPE : JSON_TYPE);
    if (text.length <= SMALL_ANSWER || request.method === 'HEAD') {
      response.setHeader('Content-Length', Buffer.byteLength(text));
      return response.end(request.method === 'HEAD' ? undefined : text);
    }
    // A long text is encoded only once, and then dropped.
    return this.replyLarge(request, response, Buffer.from(text));
  }

  private replyLarge(request: ServiceRequest, response: Response, bytes: Buffer): unknown {
    const pass = this.answers?.tryEnter(request.client, bytes.length) ?? null;
    // A write is answered in any case: the guard has checked the room before.
    if (pass === null && READS.has(request.method)) {
      response.removeHeader('ETag');
      throw answersWait();
    }
    response.setHeader('Content-Length', bytes.length);
    response.end(bytes);
    pass?.shrink(response.writableLength);
    onAnswerOver(response, () => pass?.leave());
    return response;
  }
}

/** Makes the error for a large response without room, because large responses wait for their clients to read them. */
export function answersWait(): DomainError {
  return unavailable('Too many large answers are waiting for their clients to read them.');
}

/** True if the body is an object to be sent as JSON, with a status that has a body. */
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

/**
 * Sets the headers of a route's response: `Location` for a created record, `ETag` for a record with a revision. Returns
 * the body, which is empty for a 304 to a client with a current copy.
 */
function withRecordHeaders(answer: unknown, request: ServiceRequest, response: Response): unknown {
  const { traits, method, headers } = request;
  const { id, revision } = (answer ?? {}) as { readonly id?: unknown; readonly revision?: unknown };
  if (traits.creates && response.statusCode === 201 && typeof id === 'string') {
    response.setHeader('Location', `${request.path.replace(/\/+$/, '')}/${id}`);
  }
  // A past state has no ETag, because no change could be based on it.
  const isOfThePast = request.query['asOf'] !== undefined;
  if (!traits.isRevisioned || isOfThePast || typeof revision !== 'number') return answer;
  // A strong entity tag.
  const tag = `"${revision}"`;
  response.setHeader('ETag', tag);
  if (!READS.has(method) || !isCurrentCopy(headers['if-none-match'], tag)) return answer;
  response.status(304);
  return undefined;
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
  // The pipeline sets the query of requests that have one; Express would parse it at each read.
  Object.defineProperty(ExpressRequest.prototype, 'query', { value: Object.freeze({}), writable: true });
  return { IncomingMessage: ExpressRequest, ServerResponse: ExpressResponse };
}
