import { createHash, type Hash } from 'node:crypto';

/** Number of ids between two stored hash states. */
const BLOCK = 256;

/**
 * The ids of the policies in force, and their hash: SHA-256, in hex, of the RFC 8785 array of the sorted ids. Ids sort
 * by creation, so most changes are at the end, and only what follows a change is hashed again.
 */
export class PolicySetHash {
  private readonly ids: string[] = [];
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

  /** Does nothing if the id is present. */
  add(id: string): void {
    const index = this.indexFor(id);
    if (this.ids[index] === id) return;
    this.ids.splice(index, 0, id);
    this.changedFrom(index);
  }

  /** Does nothing if the id is absent. */
  remove(id: string): void {
    const index = this.indexFor(id);
    if (this.ids[index] !== id) return;
    this.ids.splice(index, 1);
    this.changedFrom(index);
  }

  /** The hash as it would be with some ids added and others removed. */
  hashWith(added: readonly string[], removed: readonly string[]): string {
    const changed = [...added, ...removed].map((id) => this.indexFor(id));
    const first = changed.reduce((least, index) => Math.min(least, index), this.ids.length);
    const blocks = Math.min(this.states.length, Math.floor(first / BLOCK));
    const gone = new Set(removed);
    const rest = new Set([...this.ids.slice(blocks * BLOCK).filter((id) => !gone.has(id)), ...added]);
    return this.after(blocks, [...rest].sort())
      .update(']')
      .digest('hex');
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

  private changedFrom(index: number): void {
    this.known = null;
    this.states.length = Math.min(this.states.length, Math.floor(index / BLOCK));
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
