import { ByteCollector } from '../../service-rules/byte-collector.js';
import type { SharedRoom } from '../shared-room.js';
import { Refusal, unavailable } from '../calls/refusal.js';
import { headerValues } from '../calls/ask-headers.js';
import { type ClientExchange, framingRefusal } from './http-listener.js';

/** Minimum bytes of a body that have to arrive in each interval, unless the body ends in it. */
const MIN_BYTES = 40 * 1024;
const INTERVAL_MS = 5_000;
/** Milliseconds in which a whole body has to arrive, because it occupies its share of the room for so long. */
const MAX_DURATION_MS = 300_000;

/** A body in its share of the room. */
export interface HeldBody {
  readonly bytes: Buffer;
  /** Gives the share back, once the bytes are no longer held. */
  readonly release: () => void;
}

/** The sender of a body, and the room that it takes. */
export interface BodyHolder {
  readonly room: SharedRoom;
  readonly agentId: string;
}

/**
 * Reads a whole body, for which it reserves room first.
 * @throws as `readBody`; Refusal 503 if there is no room in time
 */
export async function holdBody(
  exchange: ClientExchange,
  maxBytes: number,
  { room, agentId }: BodyHolder,
): Promise<HeldBody> {
  const bound = bodyBound(exchange, maxBytes);
  if (bound === 0) return { bytes: Buffer.alloc(0), release: () => undefined };
  const share = await room.reserve(bound, agentId, exchange.left);
  if (share === null) throw unavailable('The gateway has no room for the body now.');
  try {
    const bytes = await readBody(exchange, maxBytes);
    share.shrinkTo(bytes.length);
    return { bytes, release: () => share.release() };
  } catch (error) {
    share.release();
    throw error;
  }
}

/**
 * Returns the maximum bytes of a body by the headers of its request.
 * @throws Refusal 413 if `Content-Length` exceeds `maxBytes`
 */
export function bodyBound({ request }: Pick<ClientExchange, 'request'>, maxBytes: number): number {
  const [length] = headerValues(request.rawHeaders, 'content-length');
  if (length === undefined) return request.headers['transfer-encoding'] === undefined ? 0 : maxBytes;
  const bytes = Number(length);
  if (bytes > maxBytes) throw tooLarge(maxBytes);
  return bytes;
}

/**
 * Reads a whole body.
 * @throws Refusal 413, 408 for a body that comes too slowly, 400 for malformed chunks; the reason of `left` once the
 *   client has left
 */
export async function readBody(exchange: ClientExchange, maxBytes: number): Promise<Buffer> {
  const { request, askForBody, left, malformed } = exchange;
  askForBody();
  const collector = new ByteCollector(bodyBound(exchange, maxBytes));
  const end = performance.now() + MAX_DURATION_MS;
  let lastBytes = 0;
  return new Promise((resolve, reject) => {
    const stop = (settle: () => void): void => {
      clearInterval(timer);
      request.off('data', take).off('end', finish).off('error', fail);
      left.removeEventListener('abort', leave);
      malformed.removeEventListener('abort', refuse);
      settle();
    };
    const take = (chunk: Buffer): void => {
      if (collector.length + chunk.length > maxBytes) stop(() => reject(tooLarge(maxBytes)));
      else collector.add(chunk);
    };
    const finish = (): void => stop(() => resolve(collector.bytes()));
    const fail = (error: Error): void => stop(() => reject(error));
    const leave = (): void => stop(() => reject(left.reason as Error));
    const refuse = (): void => stop(() => reject(framingRefusal('The body must be valid HTTP.')));
    const timer = setInterval(() => {
      const isSlow = collector.length - lastBytes < MIN_BYTES || performance.now() > end;
      if (isSlow) stop(() => reject(new Refusal(408, null, 'The body came too slowly.')));
      lastBytes = collector.length;
    }, INTERVAL_MS);
    if (left.aborted) leave();
    else if (malformed.aborted) refuse();
    else {
      left.addEventListener('abort', leave, { once: true });
      malformed.addEventListener('abort', refuse, { once: true });
      request.on('data', take).once('end', finish).once('error', fail);
    }
  });
}

function tooLarge(maxBytes: number): Refusal {
  return new Refusal(413, 'body_too_large', `The body is too large: at most ${maxBytes} bytes.`);
}
