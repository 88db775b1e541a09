import type { CompiledPolicy } from './compiled-policy';

/** Puts a policy into a list in the order of places, once. */
export function insertRanked(list: CompiledPolicy[], policy: CompiledPolicy): void {
  const index = indexFor(list, policy);
  if (list[index] !== policy) list.splice(index, 0, policy);
}

export function removeRanked(list: CompiledPolicy[], policy: CompiledPolicy): void {
  const index = indexFor(list, policy);
  if (list[index] === policy) list.splice(index, 1);
}

function indexFor(list: readonly CompiledPolicy[], { place }: CompiledPolicy): number {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const found = list[middle];
    if (found !== undefined && found.place < place) low = middle + 1;
    else high = middle;
  }
  return low;
}
