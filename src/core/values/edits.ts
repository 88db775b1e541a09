/**
 * Returns the number of edits between two texts: letters inserted, removed, replaced, or exchanged with the next
 * letter; Infinity if more than `most` are needed. With a `most` of 1 or 2 this takes as long as reading the texts,
 * because names may be long and many are compared.
 */
export function editsBetween(one: string, other: string, most: number): number {
  if (Math.abs(one.length - other.length) > most) return Infinity;
  let same = 0;
  while (same < one.length && one[same] === other[same]) same += 1;
  const [left, right] = [one.slice(same), other.slice(same)];
  if (left === '' || right === '') return left.length + right.length;
  if (most === 0) return Infinity;
  const after = (removed: number, inserted: number): number =>
    1 + editsBetween(left.slice(removed), right.slice(inserted), most - 1);
  const isExchanged = left.slice(0, 2) === right.charAt(1) + right.charAt(0);
  return Math.min(after(1, 1), after(1, 0), after(0, 1), isExchanged ? after(2, 2) : Infinity);
}
