// The only list of characters that are never shown as they are. The console imports this file, and the build of gov
// copies it; a test compares it with the separate list of the offline verifier.

/**
 * Characters that act on a terminal, end lines, reorder text, hide, or look like a plain space: controls, format
 * characters, variation selectors, fillers, halves of a pair, unassigned and private characters, other spaces, and
 * what fonts draw as an empty box.
 */
export const UNSEEN = /(?! )[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800\ufffc\u{1d159}]|\u{16fe4}/gu;

/** Blanks that follow four others: long runs push text out of sight. */
const FAR_BLANKS = /( {4})( +)/g;

/** Shows text by others as one line without effects on a terminal: unsafe characters become JSON escapes. */
export function printableText(text: string): string {
  return text.replace(UNSEEN, escapedText);
}

/** Works like `printableText`, and also writes out long runs of blanks. For text that is not a layout. */
export function printableWords(text: string): string {
  return printableText(text).replace(FAR_BLANKS, (_, near: string, far: string) => near + escapedText(far));
}

/** Escapes each UTF-16 unit by its number, as JSON does. */
export function escapedText(text: string): string {
  const units = text.split('').map((unit) => unit.charCodeAt(0).toString(16).padStart(4, '0'));
  return units.map((unit) => `\\u${unit}`).join('');
}
