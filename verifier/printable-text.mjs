/**
 * Characters that act on a terminal, hide or reorder text, so that a record could show a verdict of its own. The service has the
 * same list.
 */
const UNSEEN = /(?! )[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800\ufffc\u{1d159}]|\u{16fe4}/gu;

/**
 * Text from a file as one line that does nothing to a terminal: such characters are shown as JSON escapes.
 * @param {string} text
 */
export function shown(text) {
  return text.replace(UNSEEN, (character) =>
    character
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}
