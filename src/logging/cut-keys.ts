import { CUT } from './cut-text';
import { bytesOf, type Span, type TracedText } from './traced-text';

/** Less of a key than this is of no use to anybody, and ordinary words begin with it. */
const SHORTEST_BEGINNING = 4;
const CUT_BYTES = bytesOf(CUT);
const HEXADECIMAL_DIGIT = /[0-9a-f]/i;

/** Where a text was cut in the middle of a key: from the beginning of that to the cut. */
export function cutKeys({ text, places }: TracedText, keys: readonly string[]): Span[] {
  const spans: Span[] = [];
  for (let cut = text.indexOf(CUT_BYTES); cut >= 0; cut = text.indexOf(CUT_BYTES, cut + 1)) {
    const end = beforeBegunEncoding(text, cut);
    const length = Math.max(...keys.map((key) => begunLength(text, end, key)));
    if (length > 0) spans.push([places[end - length] ?? 0, places[cut] ?? 0]);
  }
  return spans;
}

/** Where what is left of encoded bytes begins, whose rest was cut off: `%`, `%4`, and with encoded digits `%%4`. */
function beforeBegunEncoding(text: string, cut: number): number {
  let end = cut;
  for (;;) {
    if (text.charAt(end - 1) === '%') end -= 1;
    else if (text.charAt(end - 2) === '%' && HEXADECIMAL_DIGIT.test(text.charAt(end - 1))) end -= 2;
    else return end;
  }
}

/** How much of the key's beginning stands before the end. */
function begunLength(text: string, end: number, key: string): number {
  for (let length = Math.min(key.length, end); length >= SHORTEST_BEGINNING; length -= 1) {
    if (text.startsWith(key.slice(0, length), end - length)) return length;
  }
  return 0;
}
