import { isTooDeep } from '../../nesting.js';
import { MAX_MESSAGE_BYTES, messagesIn, parseMessage, sizeText } from './messages.js';

/** JSON that the SDK passes over. */
const NO_MESSAGE = '{}';

/** The response of a server with its messages as the SDK reads them: without null members, and none that is too large. */
export function readableResponse(response: Response, isStream: boolean): Response {
  const { body, status, statusText, headers } = response;
  const isJson = /^application\/json\s*(;|$)/i.test(headers.get('Content-Type') ?? '');
  if (body === null || !response.ok || !(isStream || isJson)) return response;
  const readable = body
    .pipeThrough(new TextDecoderStream())
    .pipeThrough(isStream ? pieces(/\n/, readableLine) : pieces(null, readableJson));
  return new Response(readable, { status, statusText, headers });
}

/**
 * Changes each piece that ends with a separator, or all of a text, and encodes it. Fails where one is too large. The
 * TextEncoderStream of Node.js 20 would take 32 bytes of heap for each character.
 */
function pieces(separator: RegExp | null, change: (piece: string) => string): TransformStream<string, Uint8Array> {
  const encoder = new TextEncoder();
  let parts: string[] = [];
  let size = 0;
  return new TransformStream({
    transform: (chunk, controller) => {
      const texts = separator === null ? [chunk] : chunk.split(separator);
      for (const [index, text] of texts.entries()) {
        parts.push(text);
        size += text.length;
        if (size > MAX_MESSAGE_BYTES) throw new Error(sizeText(size));
        if (index === texts.length - 1) return;
        controller.enqueue(encoder.encode(`${change(parts.join(''))}\n`));
        parts = [];
        size = 0;
      }
    },
    flush: (controller) => controller.enqueue(encoder.encode(change(parts.join('')))),
  });
}

function readableJson(text: string): string {
  const value = parseMessage(text);
  const messages = messagesIn(value);
  if (messages.length === 0) return isTooDeep(value) ? NO_MESSAGE : text;
  return JSON.stringify(Array.isArray(value) ? messages : messages[0]);
}

/** A line of an event. One that is a part of a message, or several messages, is left to the SDK. */
function readableLine(line: string): string {
  const [, data] = /^data:(.*)$/s.exec(line) ?? [];
  const value = data === undefined ? undefined : parseMessage(data);
  const [message, ...furtherMessages] = messagesIn(value);
  if (message === undefined && isTooDeep(value)) return `data: ${NO_MESSAGE}`;
  return message === undefined || furtherMessages.length > 0 ? line : `data: ${JSON.stringify(message)}`;
}
