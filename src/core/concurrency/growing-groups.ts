/** Most items of a group. */
const MAX_ITEMS = 100;
/** Milliseconds that a group may take: others wait for it, and an item may be a command with a record of a megabyte. */
const MAX_HOLD_MS = 50;

/**
 * Takes items in groups, one after another. Each group is twice as large as the one before, unless that took long: other
 * commands come in between.
 * @param take takes an item; the items of a group are taken at once
 * @param isStopping asked after each group, which is then the last
 * @throws errors of `take`, after which no further group is taken
 */
export async function takeInGroups<Item>(
  items: readonly Item[],
  take: (item: Item) => Promise<unknown>,
  isStopping: () => boolean = () => false,
): Promise<void> {
  let size = 1;
  for (let start = 0; start < items.length && !isStopping();) {
    const group = items.slice(start, start + size);
    const began = performance.now();
    await Promise.all(group.map(take));
    start += group.length;
    size = performance.now() - began > MAX_HOLD_MS ? 1 : Math.min(2 * size, MAX_ITEMS);
  }
}
