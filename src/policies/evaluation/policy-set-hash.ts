import { createHash, type Hash } from 'node:crypto';

/**
 * Identifies a set of policies: the SHA-256, in hex, of the RFC 8785 array of their sorted ids. A policy is never edited,
 * so a decision can be checked against exactly the policies it was made by.
 */
export function policySetOf(ids: Iterable<string>): string {
  return createHash('sha256')
    .update(JSON.stringify([...ids].sort()))
    .digest('hex');
}

/** Number of ids between two stored hash states. */
const BLOCK = 256;
/** More changes at once are sorted in together. */
const FEW = 8;

/**
 * The ids of the policies in force, and the hash that identifies the set. Ids sort by creation, so most changes are at
 * the end, and only what follows a change is hashed again.
 */
export class PolicySetHash {
  private ids: string[] = [];
  /** The state after each full block of ids. */
  private readonly states: Hash[] = [];
  private known: string | null = null;

  get size(): number {
    return this.ids.length;
  }

  get hash(): string {
    this.known ??= this.computed();
    return this.known;
  }

  /** Adds ids and removes others; does nothing for those that are present, or absent, already. */
  change(added: readonly string[], removed: readonly string[]): void {
    if (added.length + removed.length > FEW) {
      const { start, rest } = this.changed(added, removed);
      this.ids = this.ids.slice(0, start).concat(rest);
      this.changedFrom(start);
      return;
    }
    removed.forEach((id) => this.remove(id));
    added.forEach((id) => this.add(id));
  }

  /** The hash as it would be with some ids added and others removed. */
  hashWith(added: readonly string[], removed: readonly string[]): string {
    const { start, rest } = this.changed(added, removed);
    return this.after(start / BLOCK, rest)
      .update(']')
      .digest('hex');
  }

  private add(id: string): void {
    const index = this.indexFor(id);
    if (this.ids[index] === id) return;
    this.ids.splice(index, 0, id);
    this.changedFrom(index);
  }

  private remove(id: string): void {
    const index = this.indexFor(id);
    if (this.ids[index] !== id) return;
    this.ids.splice(index, 1);
    this.changedFrom(index);
  }

  /** The ids after a change, from the start of the last block that is hashed and before which nothing changes. */
  private changed(
    added: readonly string[],
    removed: readonly string[],
  ): { readonly start: number; readonly rest: string[] } {
    let first = this.ids.length;
    for (const ids of [added, removed]) for (const id of ids) first = Math.min(first, this.indexFor(id));
    const start = Math.min(this.states.length, Math.floor(first / BLOCK)) * BLOCK;
    const gone = new Set(removed);
    const rest = new Set([...this.ids.slice(start).filter((id) => !gone.has(id)), ...added]);
    return { start, rest: [...rest].sort() };
  }

  private changedFrom(index: number): void {
    this.known = null;
    this.states.length = Math.min(this.states.length, Math.floor(index / BLOCK));
  }

  private computed(): string {
    const { ids, states } = this;
    const block = (): string[] => ids.slice(states.length * BLOCK, (states.length + 1) * BLOCK);
    while (block().length === BLOCK) states.push(this.after(states.length, block()));
    return this.after(states.length, block()).update(']').digest('hex');
  }

  /** The hash of the first blocks, whose states are stored, and of the ids that follow them; not finalised. */
  private after(blocks: number, ids: readonly string[]): Hash {
    const state = this.states[blocks - 1]?.copy() ?? createHash('sha256').update('[');
    const text = ids.map((id) => JSON.stringify(id)).join(',');
    return state.update(blocks > 0 && ids.length > 0 ? `,${text}` : text);
  }

  /** In the order of UTF-16 code units, as RFC 8785 sorts. */
  private indexFor(id: string): number {
    let low = 0;
    let high = this.ids.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const found = this.ids[middle];
      if (found !== undefined && found < id) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
