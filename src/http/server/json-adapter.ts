import { StreamableFile } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import type { Application, Response } from 'express';
import { createServer } from 'node:http';
import { type AnswerRoom, SMALL_ANSWER } from '../answers/answer-room';
import { withRecordHeaders } from '../response-headers';
import type { ServiceRequest } from '../service-request';
import { messageClasses } from './message-classes';

/** Statuses whose answers Express leaves without a body. */
const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304]);
const READS: ReadonlySet<string> = new Set(['GET', 'HEAD']);
const JSON_TYPE = 'application/json; charset=utf-8';

/**
 * Express's adapter, which gives answers the headers of their records, and has a short way for ordinary ones: Express asks
 * for four settings, and parses and renders the content type, at each of them. Everything else goes Express's own way.
 */
export class JsonAdapter extends ExpressAdapter {
  private room: AnswerRoom | null = null;

  override initHttpServer(): void {
    const application: Application = this.getInstance();
    this.httpServer = createServer(messageClasses(application), application);
  }

  /** From now on large answers are counted there, and refused where there is no room. */
  holdAnswersIn(room: AnswerRoom): void {
    this.room = room;
  }

  override reply(response: Response, answer: unknown, statusCode?: number): unknown {
    const sent: unknown =
      statusCode === undefined ? this.replyOfRoute(response, answer) : super.reply(response, answer, statusCode);
    this.room?.hold(response);
    return sent;
  }

  /** Only filters of exceptions name a status: a route's stands already. */
  private replyOfRoute(response: Response, answer: unknown): unknown {
    const request = response.req as ServiceRequest;
    if (READS.has(request.method)) this.room?.refuseLarge(request, answer);
    const body = withRecordHeaders(answer, request, response);
    if (!isOrdinary(response, body)) return super.reply(response, body);
    const text = JSON.stringify(body);
    response.setHeader('Content-Type', JSON_TYPE);
    // The bytes of a long text are made once, and the text need not be kept.
    const bytes = text.length > SMALL_ANSWER ? Buffer.from(text) : text;
    response.setHeader('Content-Length', Buffer.byteLength(bytes));
    return response.end(bytes);
  }
}

/** An object as JSON, with a status that has a body, to a request that wants the body and has no copy of it. */
function isOrdinary(response: Response, body: unknown): boolean {
  const { method, headers } = response.req;
  const isJson =
    typeof body === 'object' && body !== null && !Buffer.isBuffer(body) && !(body instanceof StreamableFile);
  return (
    isJson &&
    !(body instanceof Error) &&
    !WITHOUT_BODY.has(response.statusCode) &&
    method !== 'HEAD' &&
    headers['if-none-match'] === undefined &&
    headers['if-modified-since'] === undefined &&
    !response.hasHeader('Content-Type')
  );
}
