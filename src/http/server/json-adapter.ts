import { StreamableFile } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import type { Response } from 'express';

/** Statuses whose answers Express leaves without a body. */
const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304]);
const JSON_TYPE = 'application/json; charset=utf-8';

/**
 * Express's adapter with a short way for ordinary answers: Express asks for four settings, and parses and renders the
 * content type, at each of them. Everything else goes Express's own way.
 */
export class JsonAdapter extends ExpressAdapter {
  override reply(response: Response, body: unknown, statusCode?: number): unknown {
    if (statusCode !== undefined) response.status(statusCode);
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
