import { closeSync, openSync, readSync, writeSync } from 'node:fs';

/** What was altered in a file, as the text around it was and is. */
export interface Alteration {
  /** Number of its line, from 1. */
  readonly line: number;
  readonly was: string;
  readonly is: string;
}

/** How far into the file to look for a place. */
const WINDOW = 4 * 1024 * 1024;
/** What somebody with an interest would alter, best first; each is followed by a digit. */
const PLACES = ['"amount":', '"timestamp":"'];

/** Alters one digit of an export of the chain: an amount, or else a time. Null if it has no entry. */
export function alterOneByte(file: string): Alteration | null {
  const descriptor = openSync(file, 'r+');
  try {
    const beginning = Buffer.alloc(WINDOW);
    const content = beginning.subarray(0, readSync(descriptor, beginning, 0, WINDOW, 0));
    const found = PLACES.map((place) => ({ place, at: content.lastIndexOf(place) })).find(({ at }) => at >= 0);
    if (found === undefined) return null;
    const position = found.at + found.place.length;
    const digit = String.fromCharCode(content[position] ?? 0);
    const other = digit === '9' ? '1' : '9';
    writeSync(descriptor, other, position);
    const before = content.toString('utf8', found.at, position);
    const after = rest(content, position + 1);
    const line = content.subarray(0, position).toString('latin1').split('\n').length;
    return { line, was: `${before}${digit}${after}`, is: `${before}${other}${after}` };
  } finally {
    closeSync(descriptor);
  }
}

/** Up to the end of the value. */
function rest(content: Buffer, from: number): string {
  return /^[^,}]*/.exec(content.toString('utf8', from, from + 40))?.[0] ?? '';
}
