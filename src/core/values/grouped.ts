/** Groups items by each of their keys; the items of a key keep their order. */
export function groupBy<Key, Item>(
  items: Iterable<Item>,
  keysOf: (item: Item) => Iterable<Key>,
): ReadonlyMap<Key, readonly Item[]> {
  const groups = new Map<Key, Item[]>();
  for (const item of items) addToGroups(groups, item, keysOf(item));
  return groups;
}

/** Adds an item to the group of each of its keys, once. */
export function addToGroups<Key, Item>(groups: Map<Key, Item[]>, item: Item, keys: Iterable<Key>): void {
  for (const key of new Set(keys)) {
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
}
