import { invalid } from '../errors/domain-error';
import type { FieldFault } from '../errors/domain-error';
import { firstDifference } from '../policies/policy-content';
import type { PolicyContent } from '../policies/policy-content';
import type { Policy } from '../policies/policy.entity';

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

/** The existing policies. */
export interface KnownPolicies {
  readonly inForce: readonly Policy[];
  /** Versions in the desired set that exist but are not in force, by {@link versionKey}. */
  readonly outOfForce: ReadonlyMap<string, Policy>;
}

export function versionKey({ name, version }: Pick<Policy, 'name' | 'version'>): string {
  return JSON.stringify([name, version]);
}

/**
 * The changes that lead to the desired set, in its order, followed by what `prune` removes, by name.
 * @throws VALIDATION_ERROR when a version exists with other content.
 */
export function policyChanges(
  { policies, prune }: WantedPolicies,
  { inForce, outOfForce }: KnownPolicies,
): PolicyChange[] {
  const byName = new Map(inForce.map((policy) => [policy.name, policy]));
  const faults: FieldFault[] = [];
  const changes = policies.map((policy, index): PolicyChange => {
    const current = byName.get(policy.name);
    const isCurrent = current?.version === policy.version;
    const existing = isCurrent ? current : outOfForce.get(versionKey(policy));
    if (existing === undefined) return { change: 'create', policy, replaced: current ?? null };
    const member = firstDifference(existing, policy);
    if (member !== undefined) faults.push({ field: `policies[${index}].${member}`, message: differs(existing) });
    if (isCurrent) return { change: 'keep', policy: existing, replaced: null };
    return { change: 'activate', policy: existing, replaced: current ?? null };
  });
  if (faults.length > 0) throw invalid(faults);
  return prune ? [...changes, ...pruned(inForce, policies)] : changes;
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
