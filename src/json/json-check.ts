import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
} from './json-characters';

const SCALAR = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;
const UNICODE_ESCAPE = /\\u[0-9a-fA-F]{4}/y;
const SHORT_ESCAPES: ReadonlySet<number> = new Set([...'"\\/bfnrt'].map((letter) => letter.charCodeAt(0)));

const SPACES: ReadonlySet<number> = new Set([0x09, 0x0a, 0x0d, 0x20]);
const FIRST_PRINTABLE = 0x20;

/** The parts of JSON in order; strings and other scalars by position, strings including their quotes. */
export interface JsonParts {
  opened(isList: boolean): void;
  closed(): void;
  name(start: number, end: number): void;
  scalar(start: number, end: number): void;
}

/** What may come next. */
type Expected = 'value' | 'value or end' | 'name' | 'name or end' | 'colon' | 'comma or end';

/**
 * Checks whether a text is JSON, as `JSON.parse` would, but in chunks and without building the value: that takes many
 * times as long if it has many members.
 */
export class JsonCheck {
  private index = 0;
  private expected: Expected = 'value';
  /** The closing characters of open lists and objects, the innermost last. */
  private readonly closers: number[] = [];

  /** @param parts is called for each part of the text, as far as it is JSON. */
  constructor(
    private readonly text: string,
    private readonly parts?: JsonParts,
  ) {}

  /** Checks about this many more characters. True: that was the end. Throws SyntaxError if the text is not JSON. */
  advance(characters: number): boolean {
    const end = Math.min(this.index + characters, this.text.length);
    while (this.index < end) this.step(this.text.charCodeAt(this.index));
    if (this.index < this.text.length) return false;
    if (this.expected !== 'comma or end' || this.closers.length > 0) this.fail();
    return true;
  }

  private step(code: number): void {
    if (SPACES.has(code)) this.index += 1;
    else if (this.expected === 'comma or end') this.readSeparator(code);
    else if (this.expected === 'colon') this.take(code === COLON, 'value');
    else if (this.expected === 'name' || this.expected === 'name or end') this.readName(code);
    else this.readValue(code);
  }

  private readSeparator(code: number): void {
    const closer = this.closers.at(-1);
    if (code === closer) this.close();
    else this.take(code === COMMA && closer !== undefined, closer === CLOSE_BRACE ? 'name' : 'value');
  }

  private readName(code: number): void {
    if (code === CLOSE_BRACE && this.expected === 'name or end') {
      this.close();
      return;
    }
    if (code !== QUOTE) this.fail();
    const start = this.index;
    this.readString();
    this.parts?.name(start, this.index);
    this.expected = 'colon';
  }

  private readValue(code: number): void {
    if (code === CLOSE_BRACKET && this.expected === 'value or end') this.close();
    else if (code === OPEN_BRACE) this.open(CLOSE_BRACE, 'name or end');
    else if (code === OPEN_BRACKET) this.open(CLOSE_BRACKET, 'value or end');
    else {
      const start = this.index;
      if (code === QUOTE) this.readString();
      else this.index += this.lengthOf(SCALAR, this.index);
      this.parts?.scalar(start, this.index);
      this.expected = 'comma or end';
    }
  }

  private open(closer: number, expected: Expected): void {
    this.closers.push(closer);
    this.parts?.opened(closer === CLOSE_BRACKET);
    this.take(true, expected);
  }

  private close(): void {
    this.closers.pop();
    this.parts?.closed();
    this.take(true, 'comma or end');
  }

  private take(isRight: boolean, next: Expected): void {
    if (!isRight) this.fail();
    this.index += 1;
    this.expected = next;
  }

  private readString(): void {
    let index = this.index + 1;
    for (let code = this.text.charCodeAt(index); code !== QUOTE; code = this.text.charCodeAt(index)) {
      if (code === BACKSLASH) index += this.escapeAt(index);
      else if (code >= FIRST_PRINTABLE) index += 1;
      else this.fail();
      if (index >= this.text.length) this.fail();
    }
    this.index = index + 1;
  }

  /** A string may consist of nothing but escapes. */
  private escapeAt(index: number): number {
    return SHORT_ESCAPES.has(this.text.charCodeAt(index + 1)) ? 2 : this.lengthOf(UNICODE_ESCAPE, index);
  }

  private lengthOf(pattern: RegExp, index: number): number {
    pattern.lastIndex = index;
    return pattern.exec(this.text)?.[0].length ?? this.fail();
  }

  private fail(): never {
    throw new SyntaxError(`The text is not JSON, about position ${this.index}.`);
  }
}
