import { FaultList, type FieldFault } from '../../core/errors/domain-error';

/** The structural characters of JSON, as codes. */
export const QUOTE = 0x22;
export const COMMA = 0x2c;
const COLON = 0x3a;
export const OPEN_BRACKET = 0x5b;
export const BACKSLASH = 0x5c;
export const CLOSE_BRACKET = 0x5d;
export const OPEN_BRACE = 0x7b;
export const CLOSE_BRACE = 0x7d;

const PLAIN_KEY = /^[A-Za-z_$][\w$-]*$/;
const LONGEST_KEY_SHOWN = 100;

/** Names a member of a body: `name`, `properties.a[3]`, `properties["two words"]`. */
function jsonPath(steps: readonly (string | number)[]): string {
  return steps.reduce<string>(extended, '');
}

/** A client's key, truncated if it is too long to display. */
export function shownKey(key: string): string {
  return key.length > LONGEST_KEY_SHOWN ? `${key.slice(0, LONGEST_KEY_SHOWN)}…` : key;
}

function extended(path: string, step: string | number): string {
  if (typeof step === 'number') {
    return `${path}[${step}]`;
  }
  const key = shownKey(step);
  if (!PLAIN_KEY.test(key)) {
    return `${path}[${JSON.stringify(key)}]`;
  }
  return path === '' ? key : `${path}.${key}`;
}

const NUMBER = /-?\d+(\.\d+)?([eE][+-]?\d+)?/y;
const LONE_SURROGATE = /\p{Surrogate}/u;

const MINUS = 0x2d;
const ZERO = 0x30;
const NINE = 0x39;

/**
 * Finds what a parsed value no longer shows, in a text that is valid JSON: `__proto__` keys, NUL and lone surrogates,
 * integers beyond 2^53−1 that would change and numbers that overflow. As many as are reported.
 */
export function scanJson(text: string): readonly FieldFault[] {
  return new JsonScanner(text).faults();
}

/** Keeps track of the path of each value. */
class JsonScanner {
  private readonly list = new FaultList();
  /** The current path: per level the index in an array, or the latest key of an object. */
  private readonly path: (string | number)[] = [];
  private expectsKey = false;
  private index = 0;

  constructor(private readonly text: string) {}

  faults(): readonly FieldFault[] {
    while (this.index < this.text.length) this.step(this.text.charCodeAt(this.index));
    return this.list.faults;
  }

  private step(code: number): void {
    if (code === QUOTE) {
      this.readString();
    } else if (code === MINUS || (code >= ZERO && code <= NINE)) {
      this.readNumber();
    } else {
      this.readStructure(code);
      this.index += 1;
    }
  }

  private readStructure(code: number): void {
    if (code === OPEN_BRACE) {
      this.path.push('');
      this.expectsKey = true;
    } else if (code === OPEN_BRACKET) {
      this.path.push(0);
      this.expectsKey = false;
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
      this.path.pop();
      this.expectsKey = false;
    } else if (code === COLON) {
      this.expectsKey = false;
    } else if (code === COMMA) {
      this.moveOn();
    }
  }

  private moveOn(): void {
    const last = this.path.length - 1;
    const step = this.path[last];
    if (typeof step === 'number') {
      this.path[last] = step + 1;
    } else {
      this.expectsKey = true;
    }
  }

  private readString(): void {
    const end = this.endOfString();
    const literal = this.text.slice(this.index, end);
    const isEscaped = literal.includes('\\');
    const value = isEscaped ? (JSON.parse(literal) as string) : literal.slice(1, -1);
    this.index = end;
    if (this.expectsKey) {
      this.enterMember(value);
    }
    if (isEscaped && value.includes('\0')) {
      this.fault('must not contain a NUL character');
    }
    if (isEscaped && LONE_SURROGATE.test(value)) {
      this.fault('must be well-formed Unicode: it contains half of a surrogate pair');
    }
  }

  private endOfString(): number {
    let index = this.index + 1;
    for (let code = this.text.charCodeAt(index); code !== QUOTE; code = this.text.charCodeAt(index)) {
      index += code === BACKSLASH ? 2 : 1;
    }
    return index + 1;
  }

  private enterMember(key: string): void {
    this.path[this.path.length - 1] = key;
    if (key === '__proto__') {
      this.fault('is not allowed as a key');
    }
  }

  private readNumber(): void {
    NUMBER.lastIndex = this.index;
    const [literal = '', fraction, exponent] = NUMBER.exec(this.text) ?? [];
    this.index += literal.length;
    const value = Number(literal);
    if (!Number.isFinite(value)) {
      this.fault('is too large for a number: send it as a string');
    } else if (fraction === undefined && exponent === undefined && !isExactInteger(literal, value)) {
      this.fault('is an integer beyond 2^53−1, which would change silently: send it as a string');
    }
  }

  private fault(message: string): void {
    // A path can have thousands of characters, and a body a hundred thousand faults.
    if (!this.list.isFull) this.list.add({ field: jsonPath(this.path), message });
  }
}

/**
 * Beyond 2^53−1 an integer survives only if its digits are those that ECMAScript, and so every answer of ours, writes
 * for it.
 */
function isExactInteger(literal: string, value: number): boolean {
  return Number.isSafeInteger(value) || String(value) === literal;
}
