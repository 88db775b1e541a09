import { characterSpellings, type Spelling } from './spellings.js';

export const REDACTION = Buffer.from('[credential]');

/** Texts to find, in a tree: what several begin with is compared once, however many have it. */
interface TextTree {
  /** True if a text ends here. */
  readonly isEnd: boolean;
  readonly branches: readonly Branch[];
}

/** The characters of texts up to the next place where they differ, or one of them ends. */
interface Branch {
  /** For each character, the ways to write it. */
  readonly characters: readonly (readonly Spelling[])[];
  readonly next: TextTree;
}

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
  private readonly tree: TextTree;
  /** 1 for each pair of bytes with which a credential may begin: most places are passed over by this alone. */
  private readonly pairs = new Uint8Array(BYTE_VALUES * BYTE_VALUES);
  private readonly firstBytes = new Uint8Array(BYTE_VALUES);

  /** @param texts none of which is shorter than two characters. */
  constructor(texts: readonly string[]) {
    const characters = texts.map((text) => Array.from(text));
    this.tree = treeOf(characters, 0);
    for (const [first = '', second = ''] of characters)
      this.addPairs(characterSpellings(first), characterSpellings(second));
  }

  /** True if there is nothing to replace. */
  get isEmpty(): boolean {
    return this.tree.branches.length === 0;
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
    const match: Match = { longestEnd: start, isCut: false };
    follow(this.tree, { bytes, match }, start);
    return match.isCut && !isEnd ? PARTIAL : match.longestEnd - start;
  }

  private addPairs(first: readonly Spelling[], second: readonly Spelling[]): void {
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

/** @param depth number of characters that all of the texts begin with, and that precede the tree */
function treeOf(texts: readonly (readonly string[])[], depth: number): TextTree {
  const groups = new Map<string, (readonly string[])[]>();
  for (const text of texts) {
    const { [depth]: character } = text;
    if (character === undefined) continue;
    const group = groups.get(character);
    if (group === undefined) groups.set(character, [text]);
    else group.push(text);
  }
  return {
    isEnd: texts.some(({ length }) => length === depth),
    branches: [...groups.values()].map((group) => branchOf(group, depth)),
  };
}

/** @param texts that have their character at `depth` in common */
function branchOf(texts: readonly (readonly string[])[], depth: number): Branch {
  const [first = []] = texts;
  let end = depth + 1;
  while (end < first.length && texts.every(({ [end]: character }) => character === first[end])) end += 1;
  return { characters: first.slice(depth, end).map(characterSpellings), next: treeOf(texts, end) };
}

/** The texts that begin at one place, as far as they matter. */
interface Match {
  /** The end of the longest text. */
  longestEnd: number;
  /** True if more bytes could make a match, or a longer one. */
  isCut: boolean;
}

interface Search {
  readonly bytes: Buffer;
  readonly match: Match;
}

function follow(tree: TextTree, search: Search, at: number): void {
  const { match } = search;
  if (tree.isEnd) match.longestEnd = Math.max(match.longestEnd, at);
  for (const { characters, next } of tree.branches)
    for (const end of endsOf(characters, search, at)) follow(next, search, end);
}

const NO_ENDS: readonly number[] = [];

/** Follows all spellings at once: a `%` may stand for itself or begin a code. */
function endsOf(characters: Branch['characters'], { bytes, match }: Search, at: number): readonly number[] {
  let ends: readonly number[] = [at];
  for (const spellings of characters) {
    let nextEnds = NO_ENDS;
    for (const end of ends) {
      for (const spelling of spellings) {
        const length = matchSpelling(spelling, bytes, end);
        if (length === PARTIAL) match.isCut = true;
        else if (length !== NO_MATCH && !nextEnds.includes(end + length)) nextEnds = [...nextEnds, end + length];
      }
    }
    if (nextEnds.length === 0) return NO_ENDS;
    ends = nextEnds;
  }
  return ends;
}

function matchSpelling({ lower, upper }: Spelling, bytes: Buffer, start: number): number {
  for (let index = 0; index < lower.length; index += 1) {
    if (start + index >= bytes.length) return PARTIAL;
    const byte = bytes[start + index];
    if (byte !== lower[index] && byte !== upper[index]) return NO_MATCH;
  }
  return lower.length;
}
