/** Names shorter than this are similar by chance. */
const MIN_LENGTH = 4;

/**
 * True if two texts differ only in case or separators, in one letter, in the order of two, or in being a role or a
 * name.
 */
export function isSlip(first: string, second: string): boolean {
  const [left, right] = [first, second].map((text) => text.replace(/^(?:role|agent):/, ''));
  if (left === undefined || right === undefined) return false;
  if (lettersOf(left) === lettersOf(right)) return true;
  return left.length >= MIN_LENGTH && isOneEdit(left, right) && withoutDigits(left) !== withoutDigits(right);
}

/** Returns a question such as ` Did you mean "role:support"?`; empty if no name is similar. */
export function meantText(text: string, names: Iterable<string>, prefix = ''): string {
  for (const name of names) if (name !== text && isSlip(text, name)) return ` Did you mean "${prefix}${name}"?`;
  return '';
}

function lettersOf(text: string): string {
  return text.toLowerCase().replace(/[-_. ]/g, '');
}

/** Numbered names are similar on purpose. */
function withoutDigits(text: string): string {
  return text.replace(/\d/g, '');
}

function isOneEdit(first: string, second: string): boolean {
  const [short, long] = first.length <= second.length ? [first, second] : [second, first];
  let index = 0;
  while (index < short.length && short[index] === long[index]) index += 1;
  if (short.length < long.length) return short.slice(index) === long.slice(index + 1);
  const isExchanged = short[index] === long[index + 1] && short[index + 1] === long[index];
  return (
    short.slice(index + 1) === long.slice(index + 1) ||
    (isExchanged && short.slice(index + 2) === long.slice(index + 2))
  );
}
