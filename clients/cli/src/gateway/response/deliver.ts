import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { resetConnection } from '../listener/reset-connection.js';
import type { FilteredResponse } from './response-filter.js';

/** Milliseconds without reading after which the connection of a client is reset. */
const MAX_UNREAD_MS = 30_000;
/** Milliseconds in which a client can read the rest of an answer that broke off. */
const MAX_FLUSH_MS = 1_000;
/** The same for a client that is reset in any case. */
const RESET_MS = 250;

/** A summary of the response that the client was sent. */
export interface Delivery {
  /** The hash in hex of the body that was returned. */
  readonly sha256: string;
  readonly bytes: number;
  /** Why not the whole body was returned; null if it was. */
  readonly cut: 'upstream' | 'client' | null;
}

/**
 * Passes an answer on as it comes. Does not throw: if the answer breaks off, the connection ends early, which tells the
 * client that the answer is not whole.
 */
export async function deliver(
  response: FilteredResponse,
  target: ServerResponse,
  maxUnreadMs = MAX_UNREAD_MS,
): Promise<Delivery> {
  const hash = createHash('sha256');
  let bytes = 0;
  let cut: Delivery['cut'] = null;
  // A client that leaves ends the connection to the upstream, also while nothing comes from there.
  const onClose = (): void => response.discard();
  target.once('close', onClose);
  if (isGone(target)) onClose();
  target.writeHead(response.status, response.headers.flat());
  // A body that is there already shares the packet of the head.
  setImmediate(() => target.flushHeaders());
  try {
    for await (const chunk of response.body) {
      hash.update(chunk);
      bytes += chunk.length;
      if (target.destroyed || !(await writeChunk(target, chunk, maxUnreadMs))) {
        cut = 'client';
        break;
      }
    }
  } catch {
    // Only the body throws: it breaks off, or was ended because the client left.
    cut = isGone(target) ? 'client' : 'upstream';
  }
  if (cut === null) target.end();
  else {
    response.discard();
    if (cut === 'client') resetConnection(target.socket);
    else await breakOff(target, response);
  }
  return { sha256: hash.digest('hex'), bytes, cut };
}

/**
 * Ends the connection of an answer that broke off, once the client has the head and the bytes so far: SDKs and proxies
 * repeat a request that got no head, and this one was carried out.
 */
async function breakOff(target: ServerResponse, { headers }: FilteredResponse): Promise<void> {
  const { socket } = target;
  if (socket === null || socket.destroyed) return;
  target.flushHeaders();
  // Without a length, clients of HTTP/1.0 take the end of the connection for that of the answer: they need the reset.
  const hasLength = headers.some(([name]) => name.toLowerCase() === 'content-length');
  const needsReset = target.req.httpVersion !== '1.1' && !hasLength;
  const timer = setTimeout(() => resetConnection(socket), needsReset ? RESET_MS : MAX_FLUSH_MS);
  socket.once('close', () => clearTimeout(timer));
  // The gateway ends connections without a reset once no answer is delivered.
  if (needsReset) await new Promise((resolve) => socket.once('close', resolve));
  // Node.js 24 gives the socket what was written in one turn of the event loop at the end of that turn.
  else setImmediate(() => socket.destroySoon());
}

function isGone(target: ServerResponse): boolean {
  return target.destroyed || target.socket === null || target.socket.destroyed;
}

/** Resolves with false if the client has left, or reads nothing. */
async function writeChunk(target: ServerResponse, chunk: Buffer, maxUnreadMs: number): Promise<boolean> {
  if (target.write(chunk)) return true;
  const ending = new AbortController();
  const timer = setTimeout(() => ending.abort(), maxUnreadMs);
  const stop = (): void => ending.abort();
  target.once('close', stop);
  try {
    await once(target, 'drain', { signal: ending.signal });
    return true;
  } catch {
    return false;
  } finally {
    clearTimeout(timer);
    target.off('close', stop);
  }
}
