import { compareByRank } from './compiled-policy';
import type { CompiledPolicy } from './compiled-policy';

/** All policies in force, those that count most first. Each knows its place, so that comparing two is comparing numbers. */
export class PolicyOrder {
  private policies: CompiledPolicy[] = [];

  /** Many at once cost little more than one. */
  add(policies: readonly CompiledPolicy[]): void {
    const [first] = policies;
    if (first === undefined) return;
    if (policies.length > 1) {
      this.policies = [...this.policies, ...policies].sort(compareByRank);
      this.numberFrom(0);
    } else {
      const place = this.placeFor(first);
      this.policies.splice(place, 0, first);
      this.numberFrom(place);
    }
  }

  remove({ place }: CompiledPolicy): void {
    this.policies.splice(place, 1);
    this.numberFrom(place);
  }

  private numberFrom(place: number): void {
    for (const [index, policy] of this.policies.slice(place).entries()) policy.place = place + index;
  }

  private placeFor(policy: CompiledPolicy): number {
    let low = 0;
    let high = this.policies.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const found = this.policies[middle];
      if (found !== undefined && compareByRank(found, policy) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
