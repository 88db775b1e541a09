/**
 * A text as bytes, one character each, and the position in the line where each begins; finally, where the last one
 * ends.
 */
export interface TracedText {
  readonly text: string;
  readonly places: readonly number[];
}

/** A range of a line, in bytes. */
export type Span = readonly [begin: number, end: number];

/** Inserted where a JSON string begins or ends. It is not a byte, so no match can span it. */
export const BORDER = '\u0100';

const JSON_TOKEN = /\\(?:u[0-9A-Fa-f]{4}|["\\/bfnrt])|"/g;
const ENCODED_BYTE = /%[0-9a-f]{2}/gi;

/** The UTF-8 bytes of a text, one character each. */
export function bytesOf(text: string): string {
  return Buffer.from(text).toString('latin1');
}

/** The bytes themselves, each at its own position. */
export function traced(bytes: string): TracedText {
  return { text: bytes, places: Array.from({ length: bytes.length + 1 }, (_, index) => index) };
}

/** The strings in a line of JSON, unescaped. @param bytes of the line. */
export function jsonTexts(bytes: string): TracedText {
  return replaced(traced(bytes), JSON_TOKEN, meaningOf);
}

/** Decoded once; undefined when nothing in it is percent-encoded. */
export function percentDecoded(encoded: TracedText): TracedText | undefined {
  if (encoded.text.search(ENCODED_BYTE) < 0) return undefined;
  return replaced(encoded, ENCODED_BYTE, (token) => String.fromCharCode(parseInt(token.slice(1), 16)));
}

/** @param meaning returns a single character for a token. */
function replaced({ text, places }: TracedText, token: RegExp, meaning: (token: string) => string): TracedText {
  const texts: string[] = [];
  const kept: number[] = [];
  let at = 0;
  for (const { 0: found, index } of text.matchAll(token)) {
    texts.push(text.slice(at, index), meaning(found));
    for (const place of places.slice(at, index + 1)) kept.push(place);
    at = index + found.length;
  }
  return { text: [...texts, text.slice(at)].join(''), places: kept.concat(places.slice(at)) };
}

function meaningOf(token: string): string {
  if (token === '"') return BORDER;
  const character = JSON.parse(`"${token}"`) as string;
  return character < '\x80' ? character : BORDER;
}
