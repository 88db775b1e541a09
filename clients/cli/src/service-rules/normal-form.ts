/**
 * Most combining characters in a row: no language writes more (UAX #15, Stream-Safe Text Format). Ordering a run takes
 * time that grows with the square of its length.
 */
const MAX_MARKS = 30;
const TOO_LONG = new RegExp(`^.{${MAX_MARKS + 1}}`, 'su');
/** Matches runs of what normal forms order: marks, and the two letters that become marks in the compatible forms. */
const MARKS = /[\p{M}\uff9e\uff9f]+/gu;

/** Returns the fault of a text that has too many combining characters in a row; undefined if it has not. */
export function marksFault(text: string): string | undefined {
  return hasManyMarks(text) ? `must not have more than ${MAX_MARKS} combining characters in a row` : undefined;
}

/** True if a text has more combining characters in a row than are normalised. */
export function hasManyMarks(text: string): boolean {
  if (isAscii(text)) return false;
  for (const [run] of text.matchAll(MARKS)) if (TOO_LONG.test(run)) return true;
  return false;
}

/** Returns a text in Unicode normal form C; unchanged if it has too many combining characters in a row. */
export function normalFormC(text: string): string {
  return isAscii(text) || hasManyMarks(text) ? text : text.normalize('NFC');
}

/** Returns a text in the compatible normal form KC; unchanged if it has too many combining characters in a row. */
export function normalFormKc(text: string): string {
  return isAscii(text) || hasManyMarks(text) ? text : text.normalize('NFKC');
}

/** ASCII has a single form. A regular expression would take ten times as long to detect it. */
function isAscii(text: string): boolean {
  return Buffer.byteLength(text) === text.length;
}
