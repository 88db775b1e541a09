import { Injectable } from '@nestjs/common';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Configuration } from '../../core/config/configuration';
import { DomainError, type ErrorExtras, invalidField } from '../../core/errors/domain-error';
import { TimeSlice } from '../../core/concurrency/time-slice';
import type { Pass } from '../../core/concurrency/gate';
import { Gates, holdUntilAnswered } from '../gates';
import type { ServiceRequest } from '../request/service-request';
import { ByteCollector } from './byte-collector';
import { type JsonBody, parseJsonBody } from './json-body';
import { LONG_BODY, parseLongBody } from './long-body';
import type { Response } from 'express';
import { finished } from 'node:stream';

/**
 * Largest body in bytes that needs no room. The number of connections limits such bodies, and large bodies cannot crowd
 * them out.
 */
const SMALL_BODY = 16 * 1024;
/** Approximate bytes of memory per value, for bodies that may have very many. */
const BYTES_OF_A_VALUE = 100;

/** Fewest bytes to which an item of a list may be limited. */
const MIN_ITEM_LIMIT = 1024 * 1024;

@Injectable()
export class BodyReader {
  constructor(
    private readonly configuration: Configuration,
    private readonly gates: Gates,
  ) {}

  /**
   * Reads the body of a request; undefined if it is empty, whatever its declared type. A large body first gets room for
   * its largest possible size, which it holds until the request is answered.
   * @throws PAYLOAD_TOO_LARGE (by `Content-Length` before anything is read); UNSUPPORTED_MEDIA_TYPE; REQUEST_TIMEOUT if
   * the body arrives too slowly; UNAVAILABLE if there is no room; VALIDATION_ERROR if it is not the JSON of an object
   */
  async read(request: ServiceRequest, response: ServerResponse): Promise<JsonBody | undefined> {
    if (!announcesBody(request)) return undefined;
    const { bodyLimit, mostListedValues, takesForm, refusesRepeatedNames } = request.traits;
    const requireType = takesForm ? requireForm : requireJson;
    const limit = this.configuration[bodyLimit];
    const length = announcedLength(request.headers['content-length']);
    if (length > limit) throw payloadTooLarge(limit);
    if (length > 0) requireType(request);
    const most = length > 0 ? length : limit;
    const pass = most > SMALL_BODY ? await this.enter(request, most) : null;
    if (request.expectsContinue === true) response.writeContinue();
    const bytes = await collect(request, limit);
    // One of the large bodies that arrived together is processed per iteration of the event loop.
    if (bytes.length > SMALL_BODY) await new TimeSlice().next();
    if (bytes.length === 0) {
      pass?.leave();
      return undefined;
    }
    // A body of known length was checked before it was read.
    if (length === 0) requireType(request);
    if (takesForm) return { value: { form: bytes.toString() }, values: 1, faults: [] };
    const mostItemBytes = Math.max(MIN_ITEM_LIMIT, this.configuration.bodyLimit);
    const rules = { mostInAll: mostListedValues, mostItemBytes, refusesRepeatedNames };
    const isLong = mostListedValues !== undefined && bytes.length > LONG_BODY;
    const body = isLong ? await parseLongBody(bytes, rules) : parseJsonBody(bytes, rules);
    pass?.shrink(bytes.length + (mostListedValues === undefined ? 0 : body.values * BYTES_OF_A_VALUE));
    return body;
  }

  private async enter(request: ServiceRequest, most: number): Promise<Pass> {
    const { mostListedValues = 0 } = request.traits;
    // Every value has at least two bytes.
    const weight = most + Math.min(mostListedValues, most / 2) * BYTES_OF_A_VALUE;
    const gate = this.gates.get('bodies');
    const who = request.client;
    const signal = new AbortController();
    const onCut = (): void => signal.abort(cutBody());
    request.once('error', onCut);
    try {
      const pass = gate.tryEnter(who, weight) ?? (await gate.enter(who, { weight, signal: signal.signal }));
      holdUntilAnswered(request, pass);
      return pass;
    } finally {
      request.off('error', onCut);
    }
  }
}

/** True if the request announces a body. */
function announcesBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || announcedLength(headers['content-length']) > 0;
}

/** Returns the announced length; 0 for a body in chunks. */
function announcedLength(contentLength: string | undefined): number {
  return contentLength === undefined ? 0 : Number(contentLength);
}

const FORM_TYPE = 'application/x-www-form-urlencoded';
const JSON_TYPE = 'application/json';
const SCIM_TYPE = 'application/scim+json';
const CHARSET = /^charset[ \t]*(?:=|$)/i;
const UTF_8 = /^charset[ \t]*=[ \t]*(?:utf-?8|"utf-?8")$/i;

/** @throws UNSUPPORTED_MEDIA_TYPE unless a body is declared to be a form, without compression */
function requireForm({ headers }: IncomingMessage): void {
  requireIdentity(headers);
  const [type = ''] = (headers['content-type'] ?? '').split(';');
  if (type.trim().toLowerCase() !== FORM_TYPE) throw unsupported(`Send the body as Content-Type: ${FORM_TYPE}.`);
}

/** @throws UNSUPPORTED_MEDIA_TYPE unless a non-empty body is declared to be JSON in UTF-8, without compression */
function requireJson({ headers, traits }: ServiceRequest): void {
  requireIdentity(headers);
  const { 'content-type': declared = '' } = headers;
  if (declared === JSON_TYPE) return;
  const [type = '', ...parameters] = declared.split(';').map((part) => part.trim());
  const isJson = type.toLowerCase() === JSON_TYPE || (traits.isScim && type.toLowerCase() === SCIM_TYPE);
  if (!isJson) throw unsupported('Send the body as Content-Type: application/json.');
  const isUtf8 = parameters.every((parameter) => !CHARSET.test(parameter) || UTF_8.test(parameter));
  if (!isUtf8) throw unsupported('Send the body in UTF-8.');
}

function requireIdentity({ 'content-encoding': encoding = 'identity' }: IncomingMessage['headers']): void {
  if (encoding.trim().toLowerCase() === 'identity') return;
  // RFC 9110 says that the response names the encodings that would be accepted.
  throw unsupported('Send the body without a Content-Encoding.', { headers: { 'Accept-Encoding': 'identity' } });
}

function unsupported(message: string, extras?: ErrorExtras): DomainError {
  return new DomainError('UNSUPPORTED_MEDIA_TYPE', message, extras);
}

function payloadTooLarge(limit: number): DomainError {
  return new DomainError('PAYLOAD_TOO_LARGE', `A request body may have at most ${limit} bytes.`);
}

function cutBody(): DomainError {
  return invalidField('body', 'must arrive whole');
}

/** Milliseconds of an interval, and fewest bytes that must arrive in each. */
const INTERVAL_MS = 5_000;
const MIN_BYTES = 40 * 1024;
const TOO_SLOW = `A request body must arrive faster: ${MIN_BYTES} bytes or its end in each ${INTERVAL_MS / 1000} seconds.`;

/** Collects the body with event listeners: an asynchronous loop over the stream costs a tenth of the request rate. */
function collect(request: ServiceRequest, limit: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const collector = new ByteCollector(limit);
    let lengthBefore = 0;
    let timer: NodeJS.Timeout | undefined;
    // A connection keeps its last request, and the request's listeners would keep the bytes.
    const end = (): void => {
      clearInterval(timer);
      request.off('data', take).off('end', finish).off('error', onCut);
    };
    const refuse = (refusal: DomainError): void => {
      end();
      request.pause();
      reject(refusal);
    };
    const take = (chunk: Buffer): void => {
      if (collector.length + chunk.length > limit) refuse(payloadTooLarge(limit));
      else collector.add(chunk);
    };
    const finish = (): void => {
      end();
      resolve(collector.bytes());
    };
    const onCut = (): void => refuse(cutBody());
    const requireRate = (): void => {
      if (collector.length - lengthBefore < MIN_BYTES) refuse(new DomainError('REQUEST_TIMEOUT', TOO_SLOW));
      lengthBefore = collector.length;
    };
    if (request.isCut === true || request.destroyed) {
      refuse(cutBody());
      return;
    }
    request.on('data', take).on('end', finish).on('error', onCut);
    // A small body usually arrives with its head and needs no timer.
    if (!request.complete) timer = setInterval(requireRate, INTERVAL_MS).unref();
  });
}

/** Most bytes of an unread body that are received and discarded while the connection stays open. */
const SMALL_UNREAD = 64 * 1024;
/**
 * Most bytes of a larger unread body that are received, and most milliseconds, before the connection ends: most clients
 * send as much at once.
 */
const MAX_DISCARDED_BYTES = 1024 * 1024;
const MAX_DISCARDING_MS = 1_000;

/** True if part of the request's body may still arrive. */
export function isBodyToCome(request: ServiceRequest): boolean {
  return !request.complete && request.isCut !== true && announcesBody(request);
}

/**
 * Responds before the body has arrived. The response is sent at once, but ends only when the body was received and
 * discarded, or its bounds are reached. Otherwise Node.js would close the connection while the client still sends, and
 * the reset could cost the client the response. A client that leaves ends it at once.
 */
export async function answerBeforeBody(request: ServiceRequest, response: Response, answer: object): Promise<void> {
  const text = JSON.stringify(answer);
  const body = discardBody(request, response);
  response.set({ 'Content-Length': String(Buffer.byteLength(text)) });
  response.flushHeaders();
  response.write(text);
  await body;
  response.end();
}

/**
 * Receives the rest of a body and discards it; beyond the bound of bytes nothing more is read. Resolves at its end,
 * when the time is over, or when the client has left. The connection ends with the answer unless the body is known to
 * be small.
 */
export function discardBody(request: ServiceRequest, response: Response): Promise<void> {
  if (!isSmallUnread(request)) response.setHeader('Connection', 'close');
  let bytes = 0;
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, MAX_DISCARDING_MS).unref();
    finished(request, () => {
      clearTimeout(timer);
      resolve();
    });
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > MAX_DISCARDED_BYTES) request.pause();
    });
    request.resume();
  });
}

/**
 * True if the unread body is small. A client that waits for `100 Continue` sends no body now, and its next request
 * would be taken for the body.
 */
function isSmallUnread({ headers, expectsContinue }: ServiceRequest): boolean {
  const length = announcedLength(headers['content-length']);
  return length > 0 && length <= SMALL_UNREAD && expectsContinue !== true;
}
