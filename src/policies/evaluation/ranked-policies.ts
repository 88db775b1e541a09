import { compareByRank } from './compiled-policy';
import type { CompiledPolicy } from './compiled-policy';

/** Policies in the order of their rank. Adding and removing finds the place by halving. */
export class RankedPolicies {
  readonly list: CompiledPolicy[] = [];

  get isEmpty(): boolean {
    return this.list.length === 0;
  }

  add(policy: CompiledPolicy): void {
    const place = this.placeOf(policy);
    if (!this.holds(policy, place)) this.list.splice(place, 0, policy);
  }

  remove(policy: CompiledPolicy): void {
    const place = this.placeOf(policy);
    if (this.holds(policy, place)) this.list.splice(place, 1);
  }

  private holds(policy: CompiledPolicy, place: number): boolean {
    const found = this.list[place];
    return found !== undefined && compareByRank(found, policy) === 0;
  }

  private placeOf(policy: CompiledPolicy): number {
    let low = 0;
    let high = this.list.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const found = this.list[middle];
      if (found !== undefined && compareByRank(found, policy) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
