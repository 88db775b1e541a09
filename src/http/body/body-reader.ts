import { Injectable } from '@nestjs/common';
import type { ServerResponse } from 'node:http';
import { Configuration } from '../../config/configuration';
import { invalidField } from '../../errors/domain-error';
import { payloadTooLarge, unsupportedMediaType } from '../errors/request-errors';
import type { ServiceRequest } from '../service-request';
import { BodyRoom } from './body-room';
import { BodyShare } from './body-share';
import { mediaTypeFault } from './media-type';
import { announcedLength, announcesBody } from './unread-body';

/** Bodies up to this many bytes need no room: the connections bound them, and large ones do not keep them out. */
const SMALL_BODY = 16 * 1024;

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
   * Throws PAYLOAD_TOO_LARGE (by `Content-Length` before anything is read), UNSUPPORTED_MEDIA_TYPE, and UNAVAILABLE when
   * there is no room for it.
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
    // One of unknown length may become the largest.
    const most = length > 0 ? length : this.limit;
    const share = most > SMALL_BODY ? await BodyShare.take(this.room, most, response) : null;
    if (request.expectsContinue === true) {
      response.writeContinue();
    }
    const bytes = await collect(request, this.limit);
    share?.shrinkTo(bytes.length);
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
function collect(request: ServiceRequest, limit: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const cut = (): void => reject(invalidField('body', 'must arrive whole'));
    if (request.isCut === true || request.destroyed) {
      cut();
      return;
    }
    const chunks: Buffer[] = [];
    let length = 0;
    request.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length > limit) {
        request.removeAllListeners('data');
        request.pause();
        reject(payloadTooLarge(limit));
        return;
      }
      chunks.push(chunk);
    });
    request.on('end', () =>
      resolve(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks)),
    );
    request.on('error', cut);
  });
}
