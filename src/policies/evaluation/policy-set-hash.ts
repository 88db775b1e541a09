import { createHash, type Hash } from 'node:crypto';
import { policySetOf } from '../policy-set';

/** Changes from which on the whole is hashed at once. */
const MANY = 50;
/** Ids between two states of the hash that are kept. */
const BLOCK = 256;

/**
 * The ids of the policies in force, and their hash: SHA-256, in hex, of the RFC 8785 array of the sorted ids. Ids sort by
 * creation, so most changes are at the end, and only what follows a change is hashed again.
 */
export class PolicySetHash {
  private readonly ids: string[] = [];
  /** After each whole block of ids. */
  private readonly states: Hash[] = [];
  private known: string | null = null;

  get size(): number {
    return this.ids.length;
  }

  get hash(): string {
    this.known ??= this.computed();
    return this.known;
  }

  /** One that is there stays. */
  add(id: string): void {
    const index = this.indexFor(id);
    if (this.ids[index] === id) return;
    this.ids.splice(index, 0, id);
    this.changedFrom(index);
  }

  /** Nothing happens when it is not there. */
  remove(id: string): void {
    const index = this.indexFor(id);
    if (this.ids[index] !== id) return;
    this.ids.splice(index, 1);
    this.changedFrom(index);
  }

  /** What the hash would be with some ids more and some fewer. */
  hashWith(added: readonly string[], removed: readonly string[]): string {
    if (added.length + removed.length >= MANY) {
      const gone = new Set(removed);
      return policySetOf(new Set([...this.ids.filter((id) => !gone.has(id)), ...added]));
    }
    const leaving = removed.filter((id) => this.has(id));
    const coming = added.filter((id) => !this.has(id) || leaving.includes(id));
    leaving.forEach((id) => this.remove(id));
    coming.forEach((id) => this.add(id));
    const { hash } = this;
    coming.forEach((id) => this.remove(id));
    leaving.forEach((id) => this.add(id));
    return hash;
  }

  private has(id: string): boolean {
    return this.ids[this.indexFor(id)] === id;
  }

  private computed(): string {
    const { ids, states } = this;
    let state = states.at(-1)?.copy() ?? createHash('sha256').update('[');
    for (let start = states.length * BLOCK; start < ids.length; start += BLOCK) {
      const block = ids.slice(start, start + BLOCK).map((id) => JSON.stringify(id));
      state.update(`${start === 0 ? '' : ','}${block.join(',')}`);
      if (block.length < BLOCK) break;
      states.push(state);
      state = state.copy();
    }
    return state.update(']').digest('hex');
  }

  private changedFrom(index: number): void {
    this.known = null;
    this.states.length = Math.min(this.states.length, Math.floor(index / BLOCK));
  }

  /** In the order of UTF-16 units, as RFC 8785 sorts. */
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
