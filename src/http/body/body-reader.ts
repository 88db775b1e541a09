import { Injectable } from '@nestjs/common';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { Configuration } from '../../config/configuration';
import { type DomainError, invalidField } from '../../errors/domain-error';
import { bodyTooSlow, payloadTooLarge, unsupportedEncoding, unsupportedMediaType } from '../request/request-errors';
import { clientAddress, countedClient } from '../request/client-address';
import type { BodyLimitSetting } from '../request/route-marks';
import type { ServiceRequest } from '../request/service-request';
import { BodyMemory } from './body-memory';
import { BodyReservation, SMALL_BODY } from './body-reservation';

@Injectable()
export class BodyReader {
  constructor(
    private readonly configuration: Configuration,
    private readonly memory: BodyMemory,
  ) {}

  /**
   * Reads the body of a request; undefined when it is empty, whatever its declared type. Throws PAYLOAD_TOO_LARGE (by
   * `Content-Length` before anything is read), UNSUPPORTED_MEDIA_TYPE, REQUEST_TIMEOUT when it arrives too slowly, and
   * UNAVAILABLE when there is no room for it.
   */
  async read(
    request: ServiceRequest,
    response: ServerResponse,
    setting: BodyLimitSetting,
  ): Promise<Buffer | undefined> {
    if (!announcesBody(request)) {
      return undefined;
    }
    const limit = this.configuration[setting];
    const length = announcedLength(request.headers['content-length']);
    if (length > limit) {
      throw payloadTooLarge(limit);
    }
    if (length > 0) {
      requireJson(request);
    }
    const most = length > 0 ? length : limit;
    const share = most > SMALL_BODY ? this.reservation(request, response, most) : null;
    const turn = length > 0 ? share?.begin() : null;
    if (turn instanceof Promise) await turn;
    if (request.expectsContinue === true) {
      response.writeContinue();
    }
    const bytes = await collect(request, limit, share);
    share?.shrinkTo(bytes.length);
    if (bytes.length === 0) {
      return undefined;
    }
    // With a known length, this was checked before reading.
    if (length === 0) requireJson(request);
    return bytes;
  }

  private reservation(request: ServiceRequest, response: ServerResponse, most: number): BodyReservation {
    return new BodyReservation(this.memory, countedClient(clientAddress(request)), response, most);
  }
}

/** Whether the request announces a body. */
export function announcesBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || announcedLength(headers['content-length']) > 0;
}

function announcedLength(contentLength: string | undefined): number {
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
function collect(request: ServiceRequest, limit: number, share: BodyReservation | null): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const cut = (): void => refuse(invalidField('body', 'must arrive whole'));
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
      const turn = share?.grow(length) ?? null;
      if (turn === null) return;
      rate.stop();
      request.pause();
      turn.then(() => {
        rate.watch();
        request.resume();
      }, refuse);
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
