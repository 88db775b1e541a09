import { compareByRank } from './compiled-policy';
import type { CompiledPolicy } from './compiled-policy';
import { MAX_DECIDING_POLICIES } from './evaluation-request';
import type { Evaluation } from './evaluation-request';

const NOTHING_MATCHES: Evaluation = Object.freeze({ effect: null, policies: Object.freeze([]) });

/** Gathers matching policies while an evaluation runs and keeps the first of the highest rank. */
export class Verdict {
  /** The highest rank that matched so far. */
  rank = -Infinity;
  private deciding: CompiledPolicy[] = [];

  /** Takes matching policies in the order of their rank. */
  offer(ranked: readonly CompiledPolicy[]): void {
    const first = ranked[0];
    if (first === undefined || first.rank < this.rank) return;
    if (first.rank > this.rank) {
      this.rank = first.rank;
      this.deciding = [];
    }
    for (const policy of ranked) {
      if (policy.rank !== this.rank || !this.take(policy)) return;
    }
  }

  evaluation(): Evaluation {
    const policies = this.deciding.map((policy) => policy.reference);
    const first = policies[0];
    return first === undefined ? NOTHING_MATCHES : { effect: first.effect, policies };
  }

  /** False when there are enough older ones: no later policy of the same list can be among the first then. */
  private take(policy: CompiledPolicy): boolean {
    let place = this.deciding.length;
    for (let before = this.deciding[place - 1]; before !== undefined; before = this.deciding[place - 1]) {
      const order = compareByRank(before, policy);
      if (order < 0) break;
      // Found before, by another of its patterns.
      if (order === 0) return true;
      place -= 1;
    }
    if (place === MAX_DECIDING_POLICIES) return false;
    if (this.deciding.length === MAX_DECIDING_POLICIES) this.deciding.pop();
    this.deciding.splice(place, 0, policy);
    return true;
  }
}
