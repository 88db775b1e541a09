import { Injectable } from '@nestjs/common';
import type { ServerResponse } from 'node:http';
import { Configuration } from '../../config/configuration';
import { type DomainError, invalidField } from '../../errors/domain-error';
import { bodyTooSlow, payloadTooLarge, unsupportedMediaType } from '../errors/request-errors';
import { clientAddress, countedClient } from '../rate-limit/client-address';
import type { ServiceRequest } from '../service-request';
import { BodyRoom } from './body-room';
import { BodyShare } from './body-share';
import { LEAST_BYTES, LeastRate, SPAN } from './least-rate';
import { mediaTypeFault } from './media-type';
import { announcedLength, announcesBody } from './unread-body';

@Injectable()
export class BodyReader {
  private readonly limit: number;

  constructor(
    configuration: Configuration,
    private readonly room: BodyRoom,
  ) {
    this.limit = configuration.bodyLimit;
  }

  /**
   * Reads the body of a request; undefined when it is empty, whatever its declared type.
   * Throws PAYLOAD_TOO_LARGE (by `Content-Length` before anything is read), UNSUPPORTED_MEDIA_TYPE,
   * REQUEST_TIMEOUT when it comes too slowly, and UNAVAILABLE when there is no room for it.
   */
  async read(request: ServiceRequest, response: ServerResponse): Promise<Buffer | undefined> {
    if (!announcesBody(request)) {
      return undefined;
    }
    const length = announcedLength(request.headers['content-length']);
    if (length > this.limit) {
      throw payloadTooLarge(this.limit);
    }
    if (length > 0) {
      requireJson(request);
    }
    const most = length > 0 ? length : this.limit;
    const share = new BodyShare(this.room, countedClient(clientAddress(request)), response, most);
    if (length > 0) {
      await share.begin();
    }
    if (request.expectsContinue === true) {
      response.writeContinue();
    }
    const bytes = await collect(request, this.limit, share);
    share.shrinkTo(bytes.length);
    if (bytes.length === 0) {
      return undefined;
    }
    requireJson(request);
    return bytes;
  }
}

function requireJson(request: ServiceRequest): void {
  const fault = mediaTypeFault(request.headers);
  if (fault !== undefined) {
    throw unsupportedMediaType(fault);
  }
}

/** By events: an asynchronous loop over the stream costs a tenth of the request rate. */
function collect(request: ServiceRequest, limit: number, share: BodyShare): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const cut = (): void => giveUp(invalidField('body', 'must arrive whole'));
    const rate = new LeastRate(() => giveUp(bodyTooSlow(LEAST_BYTES, SPAN)));
    const giveUp = (refusal: DomainError): void => {
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
        giveUp(payloadTooLarge(limit));
        return;
      }
      chunks.push(chunk);
      rate.add(chunk.length);
      const turn = share.grow(length);
      if (turn === null) return;
      rate.stop();
      request.pause();
      turn.then(() => {
        rate.watch();
        request.resume();
      }, giveUp);
    });
    request.on('end', () => {
      rate.stop();
      resolve(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks));
    });
    request.on('error', cut);
    rate.watch();
  });
}
