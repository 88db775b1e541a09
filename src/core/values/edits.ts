/** Letters to insert, remove, replace, or exchange with the next one. */
export function editsBetween(one: string, other: string): number {
  let earlier: number[] = [];
  let previous = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let row = 1; row <= one.length; row += 1) {
    const edits = [row];
    for (let column = 1; column <= other.length; column += 1) {
      const [left, above, diagonal] = [edits[column - 1], previous[column], previous[column - 1]].map(Number);
      const isSame = one[row - 1] === other[column - 1];
      const isExchanged = one[row - 2] === other[column - 1] && one[row - 1] === other[column - 2];
      const exchanged = row > 1 && isExchanged ? Number(earlier[column - 2]) + 1 : Infinity;
      edits.push(Math.min(Number(left) + 1, Number(above) + 1, Number(diagonal) + (isSame ? 0 : 1), exchanged));
    }
    [earlier, previous] = [previous, edits];
  }
  return Number(previous[other.length]);
}
