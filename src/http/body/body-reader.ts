import { Injectable } from '@nestjs/common';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { Configuration } from '../../core/config/configuration';
import { type DomainError, invalidField } from '../../core/errors/domain-error';
import type { Pass } from '../../core/concurrency/gate';
import { clientOf, Gates, holdUntilAnswered } from '../gates';
import { bodyTooSlow, payloadTooLarge, unsupportedEncoding, unsupportedMediaType } from '../request/request-errors';
import type { RouteTraits } from '../request/routes';
import type { ServiceRequest } from '../request/service-request';
import { type JsonBody, parseJsonBody } from './json-body';

/**
 * Bodies up to this many bytes need no room: the number of connections limits them, and large bodies cannot crowd them
 * out.
 */
const SMALL_BODY = 16 * 1024;
/** What a value costs in memory, about, where a body may have very many. */
const BYTES_OF_A_VALUE = 100;

@Injectable()
export class BodyReader {
  constructor(
    private readonly configuration: Configuration,
    private readonly gates: Gates,
  ) {}

  /**
   * Reads the body of a request; undefined when it is empty, whatever its declared type. A large one first gets room for
   * all that it may be, which it holds until the request is answered. Throws PAYLOAD_TOO_LARGE (by `Content-Length`
   * before anything is read), UNSUPPORTED_MEDIA_TYPE, REQUEST_TIMEOUT when it arrives too slowly, UNAVAILABLE when there
   * is no room for it, and VALIDATION_ERROR when it is not the JSON of an object.
   */
  async read(request: ServiceRequest, response: ServerResponse, traits: RouteTraits): Promise<JsonBody | undefined> {
    if (!announcesBody(request)) {
      return undefined;
    }
    const limit = this.configuration[traits.bodyLimit];
    const length = announcedLength(request.headers['content-length']);
    if (length > limit) {
      throw payloadTooLarge(limit);
    }
    if (length > 0) {
      requireJson(request);
    }
    const most = length > 0 ? length : limit;
    const pass = most > SMALL_BODY ? await this.enter(request, most, traits) : null;
    if (request.expectsContinue === true) {
      response.writeContinue();
    }
    const bytes = await collect(request, limit);
    if (bytes.length === 0) {
      pass?.leave();
      return undefined;
    }
    // With a known length, this was checked before reading.
    if (length === 0) requireJson(request);
    const body = parseJsonBody(bytes, traits.mostListedValues);
    pass?.shrink(bytes.length + (traits.mostListedValues === undefined ? 0 : body.values * BYTES_OF_A_VALUE));
    return body;
  }

  private async enter(request: ServiceRequest, most: number, { mostListedValues = 0 }: RouteTraits): Promise<Pass> {
    // A value has two bytes at least.
    const weight = most + Math.min(mostListedValues, most / 2) * BYTES_OF_A_VALUE;
    const gate = this.gates.of('bodies');
    const who = clientOf(request);
    const leaving = new AbortController();
    const onCut = (): void => leaving.abort(cutBody());
    request.once('error', onCut);
    try {
      const pass = gate.tryEnter(who, weight) ?? (await gate.enter(who, { weight, leaving: leaving.signal }));
      holdUntilAnswered(request, pass);
      return pass;
    } finally {
      request.off('error', onCut);
    }
  }
}

function cutBody(): DomainError {
  return invalidField('body', 'must arrive whole');
}

/** Whether the request announces a body. */
export function announcesBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || announcedLength(headers['content-length']) > 0;
}

/** Of a body in chunks it is 0. */
export function announcedLength(contentLength: string | undefined): number {
  return contentLength === undefined ? 0 : Number(contentLength);
}

function requireJson(request: ServiceRequest): void {
  if (!isPlain(request.headers)) throw unsupportedEncoding();
  const fault = mediaTypeFault(request.headers);
  if (fault !== undefined) {
    throw unsupportedMediaType(fault);
  }
}

/** With event listeners: an asynchronous loop over the stream costs a tenth of the request rate. */
function collect(request: ServiceRequest, limit: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const cut = (): void => refuse(cutBody());
    const rate = new LeastRate(() => refuse(bodyTooSlow(LEAST_BYTES, SPAN)));
    const refuse = (refusal: DomainError): void => {
      rate.stop();
      request.removeAllListeners('data');
      request.pause();
      reject(refusal);
    };
    if (request.isCut === true || request.destroyed) {
      cut();
      return;
    }
    const chunks: Buffer[] = [];
    let length = 0;
    request.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length > limit) {
        refuse(payloadTooLarge(limit));
        return;
      }
      chunks.push(chunk);
      rate.add(chunk.length);
    });
    request.on('end', () => {
      rate.stop();
      resolve(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks));
    });
    request.on('error', cut);
    // A small body usually arrives with its head: then no timer is needed.
    if (!request.complete) rate.watch();
  });
}

const JSON_TYPE = 'application/json';
const CHARSET = /^charset[ \t]*(?:=|$)/i;
const UTF_8 = /^charset[ \t]*=[ \t]*(?:utf-?8|"utf-?8")$/i;

/** Whether a body is sent without compression or any other content encoding. */
function isPlain({ 'content-encoding': encoding }: IncomingHttpHeaders): boolean {
  return encoding === undefined || encoding.trim().toLowerCase() === 'identity';
}

/** What is wrong with the declared type of a non-empty body; undefined when it is JSON in UTF-8. */
function mediaTypeFault({ 'content-type': type }: IncomingHttpHeaders): string | undefined {
  return type === JSON_TYPE ? undefined : unusualTypeFault(type ?? '');
}

function unusualTypeFault(contentType: string): string | undefined {
  const [type = '', ...parameters] = contentType.split(';').map((part) => part.trim());
  if (type.toLowerCase() !== JSON_TYPE) {
    return 'Send the body as Content-Type: application/json.';
  }
  const charsets = parameters.filter((parameter) => CHARSET.test(parameter));
  return charsets.every((charset) => UTF_8.test(charset)) ? undefined : 'Send the body in UTF-8.';
}

/** The length of an interval in milliseconds, and the bytes that must arrive in each. */
const SPAN = 5_000;
const LEAST_BYTES = 40 * 1024;

/** Ensures that a body arrives at no less than the minimum rate, once `watch` is called. */
class LeastRate {
  private timer: NodeJS.Timeout | undefined;
  private arrived = 0;

  constructor(private readonly onTooSlow: () => void) {}

  watch(): void {
    this.arrived = 0;
    this.timer = setTimeout(() => {
      if (this.arrived < LEAST_BYTES) this.onTooSlow();
      else this.watch();
    }, SPAN).unref();
  }

  add(bytes: number): void {
    this.arrived += bytes;
  }

  stop(): void {
    clearTimeout(this.timer);
  }
}
