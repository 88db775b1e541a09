import type { ServerResponse } from 'node:http';
import { invalidField } from '../../errors/domain-error';
import { payloadTooLarge, unsupportedMediaType } from '../errors/request-errors';
import type { ServiceRequest } from '../service-request';
import { mediaTypeFault } from './media-type';
import { announcedLength, announcesBody } from './unread-body';

/**
 * Reads the body of a request; undefined when it is empty, whatever its declared type.
 * Throws PAYLOAD_TOO_LARGE (by `Content-Length` before anything is read) and UNSUPPORTED_MEDIA_TYPE.
 */
export async function readBody(
  request: ServiceRequest,
  response: ServerResponse,
  limit: number,
): Promise<Buffer | undefined> {
  if (!announcesBody(request)) {
    return undefined;
  }
  const length = announcedLength(request.headers['content-length']);
  if (length > limit) {
    throw payloadTooLarge(limit);
  }
  if (length > 0) {
    requireJson(request);
  }
  if (request.expectsContinue === true) {
    response.writeContinue();
  }
  const bytes = await collect(request, limit);
  if (bytes.length === 0) {
    return undefined;
  }
  requireJson(request);
  return bytes;
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
    if (request.isCut === true) {
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
