/**
 * Characters that control a terminal, or hide or reorder text, so that a record could show a verdict of its own. The
 * service has the same list.
 */
const UNSEEN = /(?! )[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800\ufffc\u{1d159}]|\u{16fe4}/gu;

/**
 * Returns text from a file as one line that is safe on a terminal: such characters become JSON escapes.
 * @param {string} text
 */
export function printableText(text) {
  return text.replace(UNSEEN, (character) =>
    character
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}
