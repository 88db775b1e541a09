import { closeSync, openSync, readSync, writeSync } from 'node:fs';

/** An alteration of a file: the text around it, before and after. */
export interface Alteration {
  /** Number of the altered line, counted from 1. */
  readonly line: number;
  readonly was: string;
  readonly is: string;
}

/** Bytes at the start of the file in which a digit is sought. */
const WINDOW = 4 * 1024 * 1024;
/** Texts that come before a digit that somebody would want to alter, the best first. */
const PLACES = ['"amount":', '"timestamp":"'];

/**
 * Alters one digit in the file of an export: of an amount or, if there is none, of a time. Returns null if neither is
 * found.
 */
export function alterOneByte(file: string): Alteration | null {
  const descriptor = openSync(file, 'r+');
  try {
    const header = Buffer.alloc(WINDOW);
    const content = header.subarray(0, readSync(descriptor, header, 0, WINDOW, 0));
    const match = PLACES.map((place) => ({ place, at: content.lastIndexOf(place) })).find(({ at }) => at >= 0);
    if (match === undefined) return null;
    const position = match.at + match.place.length;
    const digit = String.fromCharCode(content[position] ?? 0);
    const newDigit = digit === '9' ? '1' : '9';
    writeSync(descriptor, newDigit, position);
    const before = content.toString('utf8', match.at, position);
    const after = textFrom(content, position + 1);
    const line = content.subarray(0, position).toString('latin1').split('\n').length;
    return { line, was: `${before}${digit}${after}`, is: `${before}${newDigit}${after}` };
  } finally {
    closeSync(descriptor);
  }
}

/** Returns the text from an offset to the end of its value. */
function textFrom(content: Buffer, from: number): string {
  return /^[^,}]*/.exec(content.toString('utf8', from, from + 40))?.[0] ?? '';
}
