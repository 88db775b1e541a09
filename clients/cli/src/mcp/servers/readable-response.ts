import { ReadableStream as IterableStream } from 'node:stream/web';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { isTooDeep } from '../../nesting.js';
import { type AnswerBounds, AnswerMeter } from './answer-meter.js';
import { inPlaces, type PlaceForAnswer } from './large-answers.js';
import { messagesIn, parseMessage } from './messages.js';

/** JSON that the SDK passes over. */
const NO_MESSAGE = '{}';
/** Bytes that are read of a response without messages, such as the page of an error. */
const MAX_FAULT_BYTES = 65_536;
/** Characters of a message after which others are served before the SDK reads it. */
const LARGE = 65_536;
/** Events that are passed on before others are served. */
const MAX_EVENTS = 20;
const ACCEPTED = 202;

export interface ReadingOptions {
  /** False if the response is that to a message without an answer: then its body has no meaning. */
  readonly isAnswer: boolean;
  readonly isStream: boolean;
  readonly bounds: AnswerBounds;
  /** By default all large messages are read at once. */
  readonly placeFor?: PlaceForAnswer;
  /** Called with the message of a fault before the body fails. */
  readonly onFault: (message: string) => void;
  /** Called with the id of each answer in a stream. */
  readonly onAnswer: (id: unknown) => void;
}

/** The response of a server with its messages as the SDK reads them: without null members, and none that is too large. */
export function readableResponse(response: Response, options: ReadingOptions): Response {
  const { body, status, statusText, headers } = response;
  const isJson = /^application\/json\s*(;|$)/i.test(headers.get('Content-Type') ?? '');
  if (body === null) return response;
  const { isAnswer, isStream, placeFor, onFault } = options;
  const hasMessages = isAnswer && response.ok && status !== ACCEPTED && (isStream || isJson);
  const readable = hasMessages
    ? (placeFor === undefined ? body : streamOf(inPlaces(body, { isStream, placeFor, onFault })))
        .pipeThrough(new TextDecoderStream())
        .pipeThrough(
          isStream
            ? pieces(/\n/, (line) => readableLine(line, options.onAnswer), options)
            : pieces(null, readableJson, options),
        )
    : body.pipeThrough(firstBytes(MAX_FAULT_BYTES));
  return new Response(readable, { status, statusText, headers });
}

function streamOf(chunks: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array<ArrayBuffer>> {
  return IterableStream.from(chunks) as unknown as ReadableStream<Uint8Array<ArrayBuffer>>;
}

/** Passes on the beginning of a body, and reads no more. */
function firstBytes(count: number): TransformStream<Uint8Array, Uint8Array> {
  let remaining = count;
  return new TransformStream({
    transform: (chunk, controller) => {
      controller.enqueue(chunk.subarray(0, remaining));
      remaining -= chunk.length;
      if (remaining <= 0) controller.terminate();
    },
  });
}

/**
 * Changes each piece that ends with a separator, or all of a text, and encodes it. Fails where a message is too large. The
 * TextEncoderStream of Node.js 20 would take 32 bytes of heap for each character.
 */
function pieces(
  separator: RegExp | null,
  change: (piece: string) => string,
  { bounds, onFault }: ReadingOptions,
): TransformStream<string, Uint8Array> {
  const encoder = new TextEncoder();
  const meter = new AnswerMeter(bounds);
  let parts: string[] = [];
  let wasEnd = false;
  const add = (text: string): void => {
    const fault = meter.add(text);
    if (fault !== null) {
      const message = `its answer ${fault}`;
      onFault(message);
      throw new Error(message);
    }
    parts.push(text);
  };
  return new TransformStream({
    transform: async (chunk, controller) => {
      const texts = separator === null ? [chunk] : chunk.split(separator);
      const last = texts.pop() ?? '';
      // A queue of many small pieces takes time that grows with the square of their number.
      let changed = '';
      let events = 0;
      for (const text of texts) {
        add(text);
        const piece = parts.join('');
        parts = [];
        const isEnd = piece.trim() === '';
        // Comments say nothing, and one empty line ends an event as well as several.
        if (!piece.startsWith(':') && !(isEnd && wasEnd)) changed += `${change(piece)}\n`;
        wasEnd = isEnd;
        if (isEnd) meter.restart();
        else meter.endLine();
        if (piece.startsWith('data')) events += 1;
        if (changed.length <= LARGE && events < MAX_EVENTS) continue;
        controller.enqueue(encoder.encode(changed));
        changed = '';
        events = 0;
        await nextTurn();
      }
      if (changed !== '') controller.enqueue(encoder.encode(changed));
      add(last);
    },
    flush: async (controller) => {
      const piece = parts.join('');
      controller.enqueue(encoder.encode(change(piece)));
      if (piece.length > LARGE) await nextTurn();
    },
  });
}

function readableJson(text: string): string {
  const value = parseMessage(text);
  const messages = messagesIn(value);
  if (Array.isArray(value)) return JSON.stringify(messages);
  const [message] = messages;
  if (message === undefined) return isTooDeep(value) ? NO_MESSAGE : text;
  return JSON.stringify(message);
}

/** A line of an event. One that is a part of a message, or several messages, is left to the SDK. */
function readableLine(line: string, onAnswer: ReadingOptions['onAnswer']): string {
  const [, data] = /^data:(.*)$/s.exec(line) ?? [];
  const value = data === undefined ? undefined : parseMessage(data);
  const [message, ...furtherMessages] = messagesIn(value);
  if (message !== undefined && !('method' in message)) onAnswer(message.id);
  if (message === undefined && isTooDeep(value)) return `data: ${NO_MESSAGE}`;
  return message === undefined || furtherMessages.length > 0 ? line : `data: ${JSON.stringify(message)}`;
}
