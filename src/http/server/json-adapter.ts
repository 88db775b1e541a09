import { StreamableFile } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import type { Application, Response } from 'express';
import { createServer } from 'node:http';
import { withRecordHeaders } from '../response-headers';
import type { ServiceRequest } from '../service-request';
import { messageClasses } from './message-classes';

/** Statuses whose answers Express leaves without a body. */
const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304]);
const JSON_TYPE = 'application/json; charset=utf-8';

/**
 * Express's adapter, which gives answers the headers of their records, and has a short way for ordinary ones: Express asks
 * for four settings, and parses and renders the content type, at each of them. Everything else goes Express's own way.
 */
export class JsonAdapter extends ExpressAdapter {
  override initHttpServer(): void {
    const application: Application = this.getInstance();
    this.httpServer = createServer(messageClasses(application), application);
  }

  override reply(response: Response, answer: unknown, statusCode?: number): unknown {
    if (statusCode !== undefined) response.status(statusCode);
    // Only filters of exceptions name a status here: a route's stands already.
    const body =
      statusCode === undefined ? withRecordHeaders(answer, response.req as ServiceRequest, response) : answer;
    if (!isOrdinary(response, body)) return super.reply(response, body);
    const text = JSON.stringify(body);
    response.setHeader('Content-Type', JSON_TYPE);
    response.setHeader('Content-Length', Buffer.byteLength(text));
    return response.end(text);
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
