import { matchesBesidesPath } from './compiled-policy';
import type { CompiledPolicy } from './compiled-policy';
import { MAX_DECIDING_POLICIES } from './evaluation-request';
import type { Evaluation } from './evaluation-request';
import type { AskedNames } from './policy-names';

/** Which policies a path of the request counts for. */
export interface PathUse {
  readonly allow: 'every' | 'typed' | 'none';
  readonly others: boolean;
}

const NOTHING_MATCHES: Evaluation = Object.freeze({ effect: null, policies: Object.freeze([]) });

/** Gathers matching policies while an evaluation runs and keeps the first of the highest rank. */
export class Verdict {
  /** The highest rank that matched so far. */
  private rank = -Infinity;
  /** The place from which on no policy can be among the first. */
  private end = Infinity;
  /** In the order of their places. */
  private readonly deciding: CompiledPolicy[] = [];

  constructor(readonly asked: AskedNames) {}

  /** Whether a policy would change the verdict if it matched. When it would not, none that counts less would. */
  wants(policy: CompiledPolicy | undefined): boolean {
    return policy !== undefined && policy.place < this.end && policy.rank >= this.rank;
  }

  /** Takes those of the policies that match and may still count; they are in the order of their places. */
  consider(policies: readonly CompiledPolicy[], use: PathUse): void {
    for (const policy of policies) {
      if (!this.wants(policy)) return;
      if (matchesBesidesPath(policy, this.asked, use)) this.take(policy);
    }
  }

  private take(policy: CompiledPolicy): void {
    const { deciding } = this;
    if (policy.rank > this.rank) {
      this.rank = policy.rank;
      deciding.length = 0;
    }
    const index = this.indexFor(policy);
    // Found before, by another of its patterns.
    if (index > 0 && deciding[index - 1] === policy) return;
    if (deciding.length < MAX_DECIDING_POLICIES) deciding.push(policy);
    for (let last = deciding.length - 1; last > index; last -= 1) deciding[last] = deciding[last - 1] ?? policy;
    deciding[index] = policy;
    if (deciding.length === MAX_DECIDING_POLICIES) this.end = deciding[MAX_DECIDING_POLICIES - 1]?.place ?? Infinity;
  }

  evaluation(): Evaluation {
    const policies = this.deciding.map((policy) => policy.reference);
    const first = policies[0];
    return first === undefined ? NOTHING_MATCHES : { effect: first.effect, policies };
  }

  private indexFor({ place }: CompiledPolicy): number {
    let index = this.deciding.length;
    while (index > 0 && (this.deciding[index - 1]?.place ?? 0) > place) index -= 1;
    return index;
  }
}
