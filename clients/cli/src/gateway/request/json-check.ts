import { isUtf8 } from 'node:buffer';
import { pathTo } from '../../service-rules/json-scanner.js';
import { marksFault } from '../../service-rules/normal-form.js';
import { foldName } from './fold-name.js';
import { hexDigit } from './hex-digit.js';
import { methodNameFault } from './method-name.js';
import { isChangedNumber, isNumber, isNumberCode, MAX_NUMBER_LENGTH } from './json-number.js';

/** JSON that all programs read in the same way. */
export interface CheckedJson {
  /** Members and items at any depth. */
  readonly values: number;
  /** The names of the outermost object, folded. */
  readonly names: readonly string[];
}

/** An object or list whose end has not been read. */
interface OpenPlace {
  readonly isList: boolean;
  /** Maps the folded names of an object to the names. */
  readonly names: Map<string, string>;
  /** The name or index of the value that is being read. */
  step: string | number;
  nameBytes: number;
}

const NO_NAMES = new Map<string, string>();

/** The token that is expected next. */
type Expected = 'value' | 'value or end' | 'name' | 'name or end' | 'colon' | 'comma or end' | 'rest of text';

/** An error whose message says what the JSON has to be, as the end of a sentence. */
class JsonFault extends Error {}

/** The service allows 32 levels, of which parameters and the question around the body take two. */
const MAX_LEVELS = 30;
/** Members and items at any depth: to check so many takes seconds. */
const MAX_VALUES = 1_000_000;
/** Bytes of the names of one object, which are kept until its end. */
const MAX_NAME_BYTES = 1024 * 1024;
/** Most characters of a name: it is folded in one step. */
const MAX_NAME_LENGTH = 1_024;
/** Most bytes of a character, as an escape such as `\u0041`. */
const ESCAPE_BYTES = 6;
/** Bytes that are read without a pause. */
const STEP_BYTES = 64 * 1024;
const RESERVED = /^(?:\$sha256|\$secret|\$hmac)$/;
const BYTE_ORDER_MARK = Buffer.from('\uFEFF');
const LONG_NAME = `must have names of at most ${MAX_NAME_LENGTH} characters`;
const INVALID = 'must be valid JSON in UTF-8, as its Content-Type says';
const LITERALS: readonly Buffer[] = ['true', 'false', 'null'].map((text) => Buffer.from(text));

const [QUOTE, COMMA, COLON, BACKSLASH] = [0x22, 0x2c, 0x3a, 0x5c];
const SHORT_ESCAPES: ReadonlySet<number> = new Set(Buffer.from('"\\/bfnrt'));
const LETTER_U = 0x75;
const [OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * Checks JSON in its bytes, and builds nothing from them: objects and lists would take many times the memory. Yields
 * where others may be served. Returns what the JSON has to be, as the end of a sentence, if programs could read it
 * differently.
 */
export function* checkJson(bytes: Buffer): Generator<undefined, CheckedJson | string, undefined> {
  if (bytes.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK))
    return 'must be JSON without a byte order mark';
  if (!isUtf8(bytes)) return INVALID;
  try {
    return yield* new JsonCheck(bytes).run();
  } catch (error) {
    if (error instanceof JsonFault) return error.message;
    throw error;
  }
}

class JsonCheck {
  private readonly open: OpenPlace[] = [];
  private expected: Expected = 'value';
  private index = 0;
  private values = 0;
  private names: readonly string[] = [];

  constructor(private readonly bytes: Buffer) {}

  *run(): Generator<undefined, CheckedJson, undefined> {
    const { bytes } = this;
    let pause = STEP_BYTES;
    for (;;) {
      if (this.index >= pause) {
        yield;
        pause = this.index + STEP_BYTES;
      }
      const code = bytes[this.index];
      const isBlank = code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
      if (isBlank && this.expected !== 'rest of text') this.index += 1;
      else if (code !== undefined) this.take(code);
      else if (this.expected === 'comma or end' && this.open.length === 0)
        return { values: this.values, names: this.names };
      else throw new JsonFault(INVALID);
    }
  }

  private take(code: number): void {
    const place = this.open.at(-1);
    switch (this.expected) {
      case 'name or end':
      case 'name':
        if (code === QUOTE && place !== undefined) this.takeName(place);
        else this.takeEnd(this.expected === 'name' ? undefined : code);
        break;
      case 'colon':
        if (code !== COLON) throw new JsonFault(INVALID);
        this.advance('value');
        break;
      case 'comma or end':
        if (code === COMMA && place !== undefined) this.takeComma(place);
        else this.takeEnd(code);
        break;
      case 'value or end':
        if (code === CLOSE_BRACKET) this.takeEnd(code);
        else this.takeValue(code);
        break;
      case 'rest of text':
        this.takeText();
        break;
      case 'value':
        this.takeValue(code);
    }
  }

  private takeComma(place: OpenPlace): void {
    if (typeof place.step === 'number') place.step += 1;
    this.advance(place.isList ? 'value' : 'name');
  }

  private advance(expected: Expected): void {
    this.index += 1;
    this.expected = expected;
  }

  private takeEnd(code: number | undefined): void {
    const place = this.open.pop();
    if (place === undefined || code !== (place.isList ? CLOSE_BRACKET : CLOSE_BRACE)) throw new JsonFault(INVALID);
    if (this.open.length === 0) this.names = [...place.names.keys()];
    this.advance('comma or end');
  }

  private takeValue(code: number): void {
    if (this.open.length > 0) this.values += 1;
    if (this.values > MAX_VALUES) throw new JsonFault(`must have at most ${MAX_VALUES} values`);
    if (code === OPEN_BRACKET) this.takeOpening({ isList: true, names: NO_NAMES, step: 0, nameBytes: 0 });
    else if (code === OPEN_BRACE) this.takeOpening({ isList: false, names: new Map(), step: '', nameBytes: 0 });
    else {
      this.expected = code === QUOTE ? 'rest of text' : 'comma or end';
      this.index = code === QUOTE ? this.index + 1 : this.wordEnd(code);
    }
  }

  /** Reads on in a text, which may be as long as the body. */
  private takeText(): void {
    const { bytes } = this;
    const pause = this.index + STEP_BYTES;
    let { index } = this;
    while (index < pause && bytes[index] !== QUOTE) index = this.characterEnd(index);
    const isWhole = index < pause;
    if (isWhole) this.expected = 'comma or end';
    this.index = isWhole ? index + 1 : index;
  }

  private takeOpening(place: OpenPlace): void {
    if (this.open.length >= MAX_LEVELS) throw new JsonFault(`must be nested at most ${MAX_LEVELS} levels deep`);
    this.open.push(place);
    this.advance(place.isList ? 'value or end' : 'name or end');
  }

  private takeName(place: OpenPlace): void {
    const start = this.index;
    const end = this.nameEnd();
    place.nameBytes += end - start;
    if (place.nameBytes > MAX_NAME_BYTES)
      throw new JsonFault(`must have at most ${MAX_NAME_BYTES} bytes of names in one object`);
    const text = this.bytes.toString('utf8', start, end);
    const name = text.includes('\\') ? (JSON.parse(text) as string) : text.slice(1, -1);
    place.step = name;
    if (name.length > MAX_NAME_LENGTH) throw new JsonFault(LONG_NAME);
    const marks = marksFault(name);
    if (marks !== undefined) throw new JsonFault(marks);
    const folded = foldName(name);
    this.checkName(name, folded, place.names.get(folded));
    place.names.set(folded, name);
    this.index = end;
    this.expected = 'colon';
  }

  /** @param twin another name of the same object that is equal when folded */
  private checkName(name: string, folded: string, twin: string | undefined): void {
    if (twin === name) throw new JsonFault(`must have each name once: ${this.place()} is there twice`);
    if (twin !== undefined)
      throw new JsonFault(
        `must not have both ${this.place(twin)} and ${this.place()}, which some programs take for one name`,
      );
    if (RESERVED.test(name) || name === '__proto__')
      throw new JsonFault(
        `must not have the member ${this.place()}, which the service or other programs give a meaning`,
      );
    const methodFault = this.open.length === 1 ? methodNameFault(folded, name) : undefined;
    if (methodFault !== undefined) throw new JsonFault(methodFault);
  }

  /** Names the value that is being read. @param name instead of its own */
  private place(name?: string): string {
    const steps = this.open.map(({ step }) => step);
    return pathTo(name === undefined ? steps : [...steps.slice(0, -1), name]);
  }

  /** The place after a name. */
  private nameEnd(): number {
    const { bytes } = this;
    const first = this.index + 1;
    let index = first;
    while (bytes[index] !== QUOTE) {
      index = this.characterEnd(index);
      if (index - first > ESCAPE_BYTES * MAX_NAME_LENGTH) throw new JsonFault(LONG_NAME);
    }
    return index + 1;
  }

  /** The place after a character of a text. */
  private characterEnd(index: number): number {
    const code = this.bytes[index] ?? 0;
    if (code < 0x20) throw new JsonFault(INVALID);
    return code === BACKSLASH ? this.escapeEnd(index) : index + 1;
  }

  /** The place after an escape, or after the two of a surrogate pair. */
  private escapeEnd(start: number): number {
    if (SHORT_ESCAPES.has(this.bytes[start + 1] ?? 0)) return start + 2;
    const unit = this.unitAt(start);
    if (unit === 0) throw new JsonFault('must not contain a NUL character');
    if (unit < 0xd800 || unit > 0xdfff) return start + 6;
    const isPair = unit < 0xdc00 && this.bytes[start + 6] === BACKSLASH;
    const second = isPair ? this.unitAt(start + 6) : 0;
    if (second < 0xdc00 || second > 0xdfff)
      throw new JsonFault('must be well-formed Unicode: it contains half of a surrogate pair');
    return start + 12;
  }

  /** The UTF-16 unit of an escape such as `\u0041`. */
  private unitAt(start: number): number {
    let unit = this.bytes[start + 1] === LETTER_U ? 0 : NaN;
    for (let index = start + 2; index < start + 6; index += 1) unit = unit * 16 + hexDigit(this.bytes[index] ?? 0);
    if (Number.isNaN(unit)) throw new JsonFault(INVALID);
    return unit;
  }

  /** The place after a number, true, false or null. */
  private wordEnd(code: number): number {
    const literal = LITERALS.find(([first]) => first === code);
    if (literal === undefined) return this.numberEnd();
    const end = this.index + literal.length;
    if (!literal.equals(this.bytes.subarray(this.index, end))) throw new JsonFault(INVALID);
    return end;
  }

  private numberEnd(): number {
    const { bytes, index } = this;
    let end = index;
    while (end - index <= MAX_NUMBER_LENGTH && isNumberCode(bytes[end] ?? 0)) end += 1;
    const text = bytes.toString('latin1', index, end);
    if (text.length <= MAX_NUMBER_LENGTH && !isNumber(text)) throw new JsonFault(INVALID);
    if (text.length > MAX_NUMBER_LENGTH || isChangedNumber(text))
      throw new JsonFault(
        `must not have the number ${text.slice(0, 40)}, which some programs would round: send a text`,
      );
    return end;
  }
}
