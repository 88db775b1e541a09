/** What changed policies name on an axis: tells whether something overlaps with it. */
export class Reach<Key extends string> {
  private readonly keys: ReadonlySet<Key>;
  private readonly enclosing = new Set<Key>();

  /** @param around what encloses a key, excluding the key itself. */
  constructor(
    keys: Iterable<Key>,
    private readonly around: (key: Key) => Iterable<Key>,
  ) {
    this.keys = new Set(keys);
    for (const key of this.keys) for (const outer of around(key)) this.enclosing.add(outer);
  }

  touches(key: Key): boolean {
    if (this.keys.has(key) || this.enclosing.has(key)) return true;
    for (const outer of this.around(key)) if (this.keys.has(outer)) return true;
    return false;
  }
}
