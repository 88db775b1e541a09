import { MAX_MESSAGE_BYTES } from './messages.js';

/** Bounds of one message of a server, of an event with its lines, and of a list with all of its pages. */
export interface AnswerBounds {
  readonly maxBytes: number;
  /** Members and list items, at any depth, with the names of the members: these take as long. */
  readonly maxValues: number;
}

/** The SDK takes many seconds, in which no stop is noticed, and a gigabyte for more values. */
export const DEFAULT_BOUNDS: AnswerBounds = { maxBytes: MAX_MESSAGE_BYTES, maxValues: 1_000_000 };

const LAST_SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Measures JSON part by part, before anything is built from it. */
export class AnswerMeter {
  private bytes = 0;
  private values = 0;
  private isInText = false;
  private isEscaped = false;
  /** True after the beginning of an object or list. */
  private isFirst = false;

  constructor(private readonly bounds: AnswerBounds) {}

  /** Adds a part. Returns why it is too much, with the bound; null if it is not. */
  add(part: string): string | null {
    const { maxBytes, maxValues } = this.bounds;
    this.bytes += Buffer.byteLength(part);
    if (this.bytes > maxBytes) return `is too large: at most ${maxBytes} bytes are read`;
    this.countValues(part);
    if (this.values > maxValues) return `is too large: at most ${maxValues} values are read, with the names of members`;
    return null;
  }

  /** Begins another line: no text of JSON goes on in it. */
  endLine(): void {
    this.isInText = false;
    this.isEscaped = false;
  }

  /** Begins another message. */
  restart(): void {
    this.endLine();
    this.isFirst = false;
    this.bytes = 0;
    this.values = 0;
  }

  private countValues(part: string): void {
    for (let index = 0; index < part.length; index += 1) {
      const code = part.charCodeAt(index);
      if (this.isInText) {
        if (this.isEscaped) this.isEscaped = false;
        else if (code === BACKSLASH) this.isEscaped = true;
        else if (code === QUOTE) this.isInText = false;
      } else if (code > LAST_SPACE) this.take(code);
    }
  }

  private take(code: number): void {
    const isEnd = code === CLOSE_BRACKET || code === CLOSE_BRACE;
    if (code === COMMA || code === COLON || (this.isFirst && !isEnd)) this.values += 1;
    this.isFirst = code === OPEN_BRACKET || code === OPEN_BRACE;
    this.isInText = code === QUOTE;
  }
}
