/** Names shorter than this are similar by chance. */
const SHORTEST = 4;

/** Whether two texts differ in case or separators, in one letter, in the order of two, or in being a role or a name. */
export function isSlip(one: string, other: string): boolean {
  const [left, right] = [one, other].map((text) => text.replace(/^(?:role|agent):/, ''));
  if (left === undefined || right === undefined) return false;
  if (lettersOf(left) === lettersOf(right)) return true;
  return left.length >= SHORTEST && isOneEdit(left, right) && withoutDigits(left) !== withoutDigits(right);
}

/** Such as ` Did you mean "role:support"?`; empty where nothing is similar. */
export function meantText(text: string, known: Iterable<string>, prefix = ''): string {
  for (const name of known) if (name !== text && isSlip(text, name)) return ` Did you mean "${prefix}${name}"?`;
  return '';
}

function lettersOf(text: string): string {
  return text.toLowerCase().replace(/[-_. ]/g, '');
}

/** Numbered names are similar on purpose. */
function withoutDigits(text: string): string {
  return text.replace(/\d/g, '');
}

function isOneEdit(one: string, other: string): boolean {
  const [short, long] = one.length <= other.length ? [one, other] : [other, one];
  let at = 0;
  while (at < short.length && short[at] === long[at]) at += 1;
  if (short.length < long.length) return short.slice(at) === long.slice(at + 1);
  const isExchanged = short[at] === long[at + 1] && short[at + 1] === long[at];
  return short.slice(at + 1) === long.slice(at + 1) || (isExchanged && short.slice(at + 2) === long.slice(at + 2));
}
