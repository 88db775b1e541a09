import type { CompiledPolicy } from './compiled-policy';
import { RankedPolicies } from './ranked-policies';
import type { ResourcePattern } from './resource-pattern';
import type { ResourceProbe } from './resource-probe';

/** Policies filed under the resources they name. */
export class ResourceIndex {
  private readonly everything = new RankedPolicies();
  private readonly exact = new Map<string, RankedPolicies>();
  private readonly below = new Map<string, RankedPolicies>();

  get isEmpty(): boolean {
    return this.everything.isEmpty && this.exact.size === 0 && this.below.size === 0;
  }

  add(policy: CompiledPolicy): void {
    for (const pattern of policy.resources) this.listFor(pattern).add(policy);
  }

  remove(policy: CompiledPolicy): void {
    for (const pattern of policy.resources) {
      const list = this.listFor(pattern);
      list.remove(policy);
      if (list.isEmpty && pattern.kind !== 'everything') this[pattern.kind].delete(pattern.path);
    }
  }

  /** Shows every list of policies that match the resource; a policy may be in several. */
  visit(probe: ResourceProbe, see: (ranked: readonly CompiledPolicy[]) => void): void {
    if (!this.everything.isEmpty) see(this.everything.list);
    if (this.exact.size > 0) {
      this.visitOne(this.exact.get(probe.path), see);
      this.visitOne(this.exact.get(probe.typedPath), see);
    }
    if (this.below.size > 0) {
      for (const ancestor of probe.ancestors()) this.visitOne(this.below.get(ancestor), see);
    }
  }

  private visitOne(list: RankedPolicies | undefined, see: (ranked: readonly CompiledPolicy[]) => void): void {
    if (list !== undefined) see(list.list);
  }

  private listFor(pattern: ResourcePattern): RankedPolicies {
    if (pattern.kind === 'everything') return this.everything;
    const lists = this[pattern.kind];
    let list = lists.get(pattern.path);
    if (list === undefined) {
      list = new RankedPolicies();
      lists.set(pattern.path, list);
    }
    return list;
  }
}
