import { StreamableFile } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import type { Application, Response } from 'express';
import { createServer } from 'node:http';
import { type AnswerMemory, SMALL_ANSWER } from './answer-memory';
import { requireAdmitted } from './caller-end';
import { isDivisible, jsonParts } from './json-parts';
import { messageClasses } from './message-classes';
import { isCurrentCopy } from '../conditional/precondition';
import type { ServiceRequest } from '../request/service-request';
import { Slices } from '../../shared/slices';

/** Header of an answer that replays the answer to an earlier request. */
export const REPLAYED = 'Idempotent-Replayed';

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
    if (READS.has(request.method)) {
      this.room?.refuseLarge(request, answer);
      requireAdmitted(request.caller);
    }
    const body = withRecordHeaders(answer, request, response);
    // Express would take `*` for a copy of an answer that has no ETag to compare it by.
    if (!response.hasHeader('ETag')) delete request.headers['if-none-match'];
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
    // Nobody reads it.
    if (response.destroyed) return response.end();
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

/**
 * Sets the headers that a route's answer needs: `Location` for a created record, `ETag` for a record with a revision.
 * Returns the body, which is empty for a 304 to a client whose copy is current.
 */
function withRecordHeaders(answer: unknown, request: ServiceRequest, response: Response): unknown {
  const { traits } = request;
  if (traits.creates && response.statusCode === 201) {
    setLocation(answer, request, response);
  }
  return traits.isRevisioned && !isOfThePast(request) ? revisioned(answer, request, response) : answer;
}

/** A past state has no ETag: no change could be based on it. */
function isOfThePast({ query, traits }: ServiceRequest): boolean {
  return traits.query !== 'none' && query['asOf'] !== undefined;
}

function setLocation(answer: unknown, request: ServiceRequest, response: Response): void {
  const id = member(answer, 'id');
  if (typeof id === 'string') {
    response.setHeader('Location', `${request.path.replace(/\/+$/, '')}/${id}`);
  }
}

function revisioned(answer: unknown, request: ServiceRequest, response: Response): unknown {
  const revision = member(answer, 'revision');
  if (typeof revision !== 'number') {
    return answer;
  }
  // A strong entity tag.
  response.setHeader('ETag', `"${revision}"`);
  if (READS.has(request.method) && isCurrentCopy(request.headers['if-none-match'], revision)) {
    response.status(304);
    return undefined;
  }
  return answer;
}

function member(answer: unknown, name: string): unknown {
  return typeof answer === 'object' && answer !== null ? (answer as Record<string, unknown>)[name] : undefined;
}
