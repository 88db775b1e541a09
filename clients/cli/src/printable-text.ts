// The one list of what is never shown as it is. The console imports this file; the build of gov copies it; the offline
// verifier has a list of its own, which a test compares with this one.

/**
 * Characters that act on a terminal, end lines, reorder text, hide, or look like a plain space: controls, format
 * characters, variation selectors, fillers, halves of a pair, unassigned and private characters, other spaces, and
 * what fonts draw as an empty box.
 */
export const UNSEEN = /(?! )[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800\ufffc\u{1d159}]|\u{16fe4}/gu;

/** Blanks in a row after the fourth, which push text out of sight. */
const FAR_BLANKS = /( {4})( +)/g;

/** Text by others as one line that does nothing to a terminal: such characters are shown as JSON escapes. */
export function printableText(text: string): string {
  return text.replace(UNSEEN, escapedText);
}

/** The same for a text that is no layout: long runs of blanks are written out as well. */
export function printableWords(text: string): string {
  return printableText(text).replace(FAR_BLANKS, (_, near: string, far: string) => near + escapedText(far));
}

/** Each UTF-16 unit by its number, as JSON has it. */
export function escapedText(text: string): string {
  const units = text.split('').map((unit) => unit.charCodeAt(0).toString(16).padStart(4, '0'));
  return units.map((unit) => `\\u${unit}`).join('');
}
