import { ReadableStream as IterableStream } from 'node:stream/web';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type AnswerBounds, AnswerMeter } from './answer-meter.js';
import { inPlaces, type PlaceForAnswer } from './large-answers.js';
import { EventLines, NO_MESSAGE } from './event-lines.js';
import { messagesIn, parseMessage } from './messages.js';

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
  /** Chooses where a large message is read. Default: all large messages are read at once. */
  readonly placeFor?: PlaceForAnswer;
  /** Called with the message of a fault before the body fails. */
  readonly onFault: (message: string) => void;
  /** Called with the id of each answer in a stream. */
  readonly onAnswer: (id: unknown) => void;
}

/**
 * The response of a server with its messages as the SDK reads them: without null members, and none that is too large.
 */
export function readableResponse(response: Response, options: ReadingOptions): Response {
  const { body, status, statusText, headers } = response;
  const isJson = /^application\/json\s*(;|$)/i.test(headers.get('Content-Type') ?? '');
  if (body === null) return response;
  const { isAnswer, isStream, placeFor, onFault } = options;
  const hasMessages = isAnswer && response.ok && status !== ACCEPTED && (isStream || isJson);
  const readable = hasMessages
    ? (placeFor === undefined ? body : streamOf(inPlaces(body, { isStream, placeFor, onFault })))
        .pipeThrough(new TextDecoderStream())
        .pipeThrough(isStream ? readableEvents(options) : readableMessage(options))
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

/** Returns a function that measures parts of a body. @throws Error where a message is too large */
function measure(meter: AnswerMeter, onFault: ReadingOptions['onFault']): (text: string) => void {
  return (text) => {
    const fault = meter.add(text);
    if (fault === null) return;
    const message = `its answer ${fault}`;
    onFault(message);
    throw new Error(message);
  };
}

/** Encodes texts. The TextEncoderStream of Node.js 20 would take 32 bytes of heap for each character. */
const encoder = new TextEncoder();

/** The end of a line of a stream of events. */
const LINE_END = /\r\n|\r|\n/;

/** Changes the events of a stream. Fails where one is too large. */
function readableEvents({ bounds, onFault, onAnswer }: ReadingOptions): TransformStream<string, Uint8Array> {
  const meter = new AnswerMeter(bounds);
  const add = measure(meter, onFault);
  const events = new EventLines(onAnswer);
  let parts: string[] = [];
  /** A carriage return at the end of what came, which may be half of the end of a line. */
  let half = '';
  return new TransformStream({
    transform: async (chunk, controller) => {
      const came = half + chunk;
      half = came.endsWith('\r') ? '\r' : '';
      const texts = came.slice(0, came.length - half.length).split(LINE_END);
      const last = texts.pop() ?? '';
      // A queue of many small pieces takes time that grows with the square of their number.
      let changed = '';
      let count = 0;
      for (const text of texts) {
        add(text);
        const line = parts.join('') + text;
        parts = [];
        if (line === '') meter.restart();
        else meter.endLine();
        const ended = events.read(line);
        changed += ended;
        if (ended !== '') count += 1;
        if (changed.length <= LARGE && count < MAX_EVENTS) continue;
        controller.enqueue(encoder.encode(changed));
        changed = '';
        count = 0;
        await nextTurn();
      }
      if (changed !== '') controller.enqueue(encoder.encode(changed));
      add(last);
      parts.push(last);
    },
    flush: (controller) => controller.enqueue(encoder.encode(events.read(parts.join('')))),
  });
}

/** Changes a body that is one message. Fails where it is too large. */
function readableMessage({ bounds, onFault }: ReadingOptions): TransformStream<string, Uint8Array> {
  const add = measure(new AnswerMeter(bounds), onFault);
  const parts: string[] = [];
  return new TransformStream({
    transform: (chunk) => {
      add(chunk);
      parts.push(chunk);
    },
    flush: async (controller) => {
      const text = parts.join('');
      controller.enqueue(encoder.encode(readableJson(text)));
      if (text.length > LARGE) await nextTurn();
    },
  });
}

function readableJson(text: string): string {
  const value = parseMessage(text);
  const messages = messagesIn(value);
  if (Array.isArray(value)) return JSON.stringify(messages);
  const [message] = messages;
  if (message === undefined) return value === null ? text : NO_MESSAGE;
  return JSON.stringify(message);
}
