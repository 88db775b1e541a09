/**
 * Unicode normal forms of texts by others. No other file calls `normalize`: to order many combining characters takes
 * time that grows with the square of their number.
 */

/** More combining characters in a row than any language has. */
const MANY_MARKS = /[\p{M}\uff9e\uff9f]{31}/u;

/**
 * True if a text has so many combining characters in a row that it names nothing.
 * @param {string} text
 */
export function hasManyMarks(text) {
  return MANY_MARKS.test(text);
}

/**
 * Returns a text in normal form C; unchanged if it has too many combining characters in a row.
 * @param {string} text
 */
export function normalFormC(text) {
  return hasManyMarks(text) ? text : text.normalize('NFC');
}

/**
 * Returns a text in the compatible normal form KC; unchanged if it has too many combining characters in a row.
 * @param {string} text
 */
export function normalFormKc(text) {
  return hasManyMarks(text) ? text : text.normalize('NFKC');
}
