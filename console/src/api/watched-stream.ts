import type { TransportOptions } from './types.js';

/**
 * Milliseconds without a byte after which a stream is considered broken: the service sends a comment every 15 seconds.
 */
const MAX_SILENCE_MS = 25_000;

/** The connection, which also reports when an event stream is open, and as soon as it has ended or fallen silent. */
export function watchedStream(connection: TransportOptions, report: (isOpen: boolean) => void): TransportOptions {
  const { fetch: send = fetch } = connection;
  return {
    ...connection,
    fetch: async (...request) => {
      const response = await send(...request);
      const { body, headers, status } = response;
      if (body === null || headers.get('Content-Type')?.startsWith('text/event-stream') !== true) return response;
      report(true);
      return new Response(
        watchedBody(body, () => report(false)),
        { headers, status },
      );
    },
  };
}

/** Returns the same bytes; a connection that breaks ends the stream without an error. */
function watchedBody(body: ReadableStream<Uint8Array>, onEnd: () => void): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const cancel = (): Promise<void> => reader.cancel().catch(() => undefined);
  return new ReadableStream({
    async pull(controller) {
      const silence = setTimeout(() => void cancel(), MAX_SILENCE_MS);
      const { value } = await reader.read().catch(() => ({ value: undefined }));
      clearTimeout(silence);
      if (value === undefined) {
        onEnd();
        controller.close();
      } else {
        controller.enqueue(value);
      }
    },
    cancel,
  });
}
