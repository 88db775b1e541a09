import type { FieldFault } from '../../core/errors/domain-error';
import { firstDifference, type PolicyContent } from './policy-content';
import type { Policy } from './policy.entity';
import { Turn } from '../../core/concurrency/turn';

/** What has to be done about a policy; `replaced` is the version in force that it replaces. */
export type PolicyChange =
  | { readonly change: 'create'; readonly policy: PolicyContent; readonly replaced: Policy | null }
  | { readonly change: 'activate'; readonly policy: Policy; readonly replaced: Policy | null }
  | { readonly change: 'keep' | 'deactivate'; readonly policy: Policy; readonly replaced: null };

/** The desired set: each name once. With `prune`, policies it does not name are removed. */
export interface WantedPolicies {
  readonly policies: readonly PolicyContent[];
  readonly prune: boolean;
}

/** What leads to the desired set. */
export interface FoundChanges {
  readonly changes: readonly PolicyChange[];
  /** Of versions that exist with other content: nothing can be changed then. */
  readonly faults: readonly FieldFault[];
}

/** The existing policies. */
export interface KnownPolicies {
  readonly inForce: readonly Policy[];
  /** Versions in the desired set that exist but are not in force, by {@link byVersion}. */
  readonly outOfForce: ReadonlyMap<string, Policy>;
}

function versionKey({ name, version }: Pick<Policy, 'name' | 'version'>): string {
  return JSON.stringify([name, version]);
}

/** The changes that lead to the desired set, in its order, followed by what `prune` removes, by name. */
export async function policyChanges(
  { policies, prune }: WantedPolicies,
  { inForce, outOfForce }: KnownPolicies,
): Promise<FoundChanges> {
  const byName = new Map(inForce.map((policy) => [policy.name, policy]));
  const turn = new Turn();
  const faults: FieldFault[] = [];
  const changes: PolicyChange[] = [];
  for (const [index, policy] of policies.entries()) {
    if (turn.isOver) await turn.next();
    const current = byName.get(policy.name) ?? null;
    const isCurrent = current?.version === policy.version;
    const existing = isCurrent ? current : outOfForce.get(versionKey(policy));
    if (existing === undefined) {
      changes.push({ change: 'create', policy, replaced: current });
      continue;
    }
    const member = firstDifference(existing, policy);
    if (member !== undefined) faults.push({ field: `policies[${index}].${member}`, message: differs(existing) });
    if (isCurrent) changes.push({ change: 'keep', policy: existing, replaced: null });
    else changes.push({ change: 'activate', policy: existing, replaced: current });
  }
  return { changes: prune ? [...changes, ...pruned(inForce, policies)] : changes, faults };
}

/** The versions of the set that are not in force: whether they exist has to be looked up. */
export function notInForce(
  wanted: readonly PolicyContent[],
  inForce: readonly Policy[],
): [name: string, version: string][] {
  const versions = new Map(inForce.map(({ name, version }) => [name, version]));
  return wanted.flatMap(({ name, version }) => (versions.get(name) === version ? [] : [[name, version]]));
}

export function byVersion(policies: readonly Policy[]): ReadonlyMap<string, Policy> {
  return new Map(policies.map((policy) => [versionKey(policy), policy]));
}

/** The policies that were not in force before. */
export function comingIntoForce(changes: readonly PolicyChange[]): PolicyContent[] {
  return changes.flatMap(({ change, policy }) => (change === 'create' || change === 'activate' ? [policy] : []));
}

/** The policies that are no longer in force. */
export function goingOutOfForce(changes: readonly PolicyChange[]): Policy[] {
  return changes.flatMap((change) => (change.change === 'deactivate' ? [change.policy] : (change.replaced ?? [])));
}

function pruned(inForce: readonly Policy[], wanted: readonly PolicyContent[]): PolicyChange[] {
  const names = new Set(wanted.map(({ name }) => name));
  return inForce
    .filter(({ name }) => !names.has(name))
    .sort((left, right) => (left.name < right.name ? -1 : 1))
    .map((policy) => ({ change: 'deactivate', policy, replaced: null }));
}

function differs({ name, version }: Policy): string {
  return `differs from version ${version} of "${name}": a version is never edited, so give the change a new one`;
}
