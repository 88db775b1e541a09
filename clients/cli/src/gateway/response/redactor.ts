import { characterSpellings, type Spelling } from './spellings.js';

export const REDACTION = Buffer.from('[credential]');

/** A text to find: for each of its characters, the ways to write it. */
type Pattern = readonly (readonly Spelling[])[];

/** A match may continue after the bytes that are there. */
const PARTIAL = -1;
const NO_MATCH = 0;
const BYTE_VALUES = 256;

/** Gives the redactor of an answer as it is now: a long answer may outlast a secret. */
export type CurrentRedactor = () => Redactor;

export interface RedactedPart {
  /** Bytes that can be passed on. */
  readonly output: readonly Buffer[];
  /** The end of the bytes, which may be the beginning of a credential: it precedes the next bytes. */
  readonly rest: Buffer;
  readonly isRedacted: boolean;
}

/** Replaces credentials in bytes. Where several begin at one place, the longest is replaced. */
export class Redactor {
  private readonly patterns: readonly Pattern[];
  /** 1 for each pair of bytes with which a credential may begin: most places are passed over by this alone. */
  private readonly pairs = new Uint8Array(BYTE_VALUES * BYTE_VALUES);
  private readonly firstBytes = new Uint8Array(BYTE_VALUES);

  /** @param texts none of which is shorter than two characters. */
  constructor(texts: readonly string[]) {
    this.patterns = texts.map((text) => Array.from(text, characterSpellings));
    for (const pattern of this.patterns) this.addPairs(pattern);
  }

  /** True if there is nothing to replace. */
  get isEmpty(): boolean {
    return this.patterns.length === 0;
  }

  /** Replaces what is in a whole text. */
  redactAll(bytes: Buffer): { readonly bytes: Buffer; readonly isRedacted: boolean } {
    const { output, isRedacted } = this.redact(bytes, true);
    return { bytes: isRedacted ? Buffer.concat(output) : bytes, isRedacted };
  }

  /** Replaces in a part of a body. @param isEnd whether nothing follows: then nothing is held back. */
  redact(bytes: Buffer, isEnd: boolean): RedactedPart {
    const output: Buffer[] = [];
    let copied = 0;
    let at = this.nextStart(bytes, 0);
    while (at < bytes.length) {
      const length = this.matchAt(bytes, at, isEnd);
      if (length === PARTIAL) break;
      if (length === NO_MATCH) {
        at = this.nextStart(bytes, at + 1);
        continue;
      }
      if (at > copied) output.push(bytes.subarray(copied, at));
      output.push(REDACTION);
      copied = at + length;
      at = this.nextStart(bytes, copied);
    }
    const isRedacted = output.length > 0;
    if (at > copied) output.push(bytes.subarray(copied, at));
    return { output, rest: bytes.subarray(at), isRedacted };
  }

  /** First place from which a credential may begin; the length of the bytes if there is none. */
  private nextStart(bytes: Buffer, from: number): number {
    const { pairs } = this;
    if (this.isEmpty) return bytes.length;
    const last = bytes.length - 1;
    let first = bytes[from] ?? 0;
    for (let at = from; at < last; at += 1) {
      const second = bytes[at + 1] ?? 0;
      if (pairs[first * BYTE_VALUES + second] === 1) return at;
      first = second;
    }
    return from <= last && this.firstBytes[first] === 1 ? last : bytes.length;
  }

  private matchAt(bytes: Buffer, start: number, isEnd: boolean): number {
    let longest = NO_MATCH;
    for (const pattern of this.patterns) {
      const length = matchPattern(pattern, bytes, start);
      if (length.isCut && !isEnd) return PARTIAL;
      longest = Math.max(longest, length.matched);
    }
    return longest;
  }

  private addPairs(pattern: Pattern): void {
    const [first = [], second = []] = pattern;
    for (const { lower, upper } of first) {
      for (const start of [lower, upper]) {
        const byte = start[0] ?? 0;
        this.firstBytes[byte] = 1;
        const nextBytes = start.length > 1 ? [start[1] ?? 0] : second.flatMap((next) => [next.lower[0], next.upper[0]]);
        for (const next of nextBytes) this.pairs[byte * BYTE_VALUES + (next ?? 0)] = 1;
      }
    }
  }
}

interface PatternMatch {
  /** Length of the longest match; 0 if there is none. */
  readonly matched: number;
  /** True if more bytes could make a match, or a longer one. */
  readonly isCut: boolean;
}

/** Follows all spellings at once: a `%` may stand for itself or begin a code. */
function matchPattern(pattern: Pattern, bytes: Buffer, start: number): PatternMatch {
  let ends: readonly number[] = [start];
  let isCut = false;
  for (const spellings of pattern) {
    const nextEnds = new Set<number>();
    for (const end of ends) {
      for (const spelling of spellings) {
        const length = matchSpelling(spelling, bytes, end);
        if (length === PARTIAL) isCut = true;
        else if (length !== NO_MATCH) nextEnds.add(end + length);
      }
    }
    if (nextEnds.size === 0) return { matched: 0, isCut };
    ends = [...nextEnds];
  }
  return { matched: Math.max(...ends) - start, isCut };
}

function matchSpelling({ lower, upper }: Spelling, bytes: Buffer, start: number): number {
  for (let index = 0; index < lower.length; index += 1) {
    if (start + index >= bytes.length) return PARTIAL;
    const byte = bytes[start + index];
    if (byte !== lower[index] && byte !== upper[index]) return NO_MATCH;
  }
  return lower.length;
}
