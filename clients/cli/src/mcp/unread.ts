import { MAX_MESSAGE_BYTES } from './servers/messages.js';

/** Bytes of one answer that a client may leave unread: with more the answer ends, and its connection. One message always has room. */
const MAX_UNREAD_BYTES = MAX_MESSAGE_BYTES;

/**
 * The answer with a bound on what its client leaves unread. A server may report progress and notifications for ever, and the SDK would
 * keep all of them for a client that stops reading.
 */
export function withBoundedBody(response: Response, maxUnreadBytes = MAX_UNREAD_BYTES): Response {
  if (response.body === null) return response;
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const bounded = new ReadableStream<Uint8Array>(
    {
      start: (controller) => void passOn(reader, controller),
      cancel: (reason) => reader.cancel(reason),
    },
    new ByteLengthQueuingStrategy({ highWaterMark: maxUnreadBytes }),
  );
  const { status, statusText, headers } = response;
  return new Response(bounded, { status, statusText, headers });
}

type Reader = ReadableStreamDefaultReader<Uint8Array>;

async function passOn(reader: Reader, to: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      if ((to.desiredSize ?? 0) <= 0) throw new Error('The client leaves too much of the answer unread.');
      to.enqueue(value);
    }
    to.close();
  } catch (error) {
    to.error(error);
    // The SDK then takes the client for gone.
    await reader.cancel(error).catch(() => undefined);
  }
}
