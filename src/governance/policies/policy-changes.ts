import { type FieldFault, requirePresent } from '../../core/errors/domain-error';
import { yieldBetween } from '../../core/concurrency/time-slice';
import type { Dialect } from '../../ledger/database/dialect';
import type { RowQuery, RunRowQueries } from '../../ledger/records/row-query';
import { firstDifference, type PolicyContent } from './policy-content';
import { type Policy, POLICY } from './policy.entity';

/** A change of a policy; `replaced` is the version in force that it replaces. */
export type PolicyChange =
  | { readonly change: 'create'; readonly policy: PolicyContent; readonly replaced: Policy | null }
  | { readonly change: 'activate'; readonly policy: Policy; readonly replaced: Policy | null }
  | { readonly change: 'keep' | 'deactivate'; readonly policy: Policy; readonly replaced: null };

/**
 * The desired set of a team, or of no team: each name once. With `prune`, the team's policies outside the set are
 * removed.
 */
export interface WantedPolicies {
  readonly policies: readonly PolicyContent[];
  readonly prune: boolean;
  readonly team: string | null;
}

/** Reads stored versions of policies, inside a command or outside. */
export interface PolicyVersions {
  /** Finds the policies that have one of these names with this version. */
  find(versions: readonly (readonly [name: string, version: string])[]): Promise<readonly Policy[]>;
  /** Most versions of one call of `find`: a policy can have 1 MB. */
  readonly atOnce: number;
  readonly run: RunRowQueries;
  readonly dialect: Dialect;
}

/** Changes that lead to the desired set. */
export interface FoundChanges {
  readonly changes: readonly PolicyChange[];
  /** Faults of versions that exist with other content: then nothing can be changed. */
  readonly faults: readonly FieldFault[];
  /** Names that policies of others have taken. */
  readonly taken: readonly string[];
}

/** Stored versions that were compared with the desired ones, by their `versionKey`. */
interface ComparedVersions {
  /** Versions with the desired content. */
  readonly same: ReadonlyMap<string, Policy>;
  /** The first member that differs in each of the others, whose content is not held: it can be much longer. */
  readonly faults: ReadonlyMap<string, FieldFault>;
}

function versionKey({ name, version }: Pick<Policy, 'name' | 'version'>): string {
  return JSON.stringify([name, version]);
}

/**
 * Finds the changes that lead to the desired set, in its order, followed by the removals of `prune`, by name.
 * @param inForce all policies in force
 */
export async function policyChanges(
  { policies, prune, team }: WantedPolicies,
  inForce: readonly Policy[],
  versions: PolicyVersions,
): Promise<FoundChanges> {
  const byName = new Map(inForce.map((policy) => [policy.name, policy]));
  const compared = await comparedVersions(policies, byName, versions);
  const faults: FieldFault[] = [];
  const changes: PolicyChange[] = [];
  for await (const [index, policy] of yieldBetween(policies.entries())) {
    const current = byName.get(policy.name) ?? null;
    const same = compared.same.get(versionKey(policy));
    const fault = compared.faults.get(versionKey(policy));
    if (fault !== undefined) faults.push({ ...fault, field: `policies[${index}].${fault.field}` });
    else if (same === undefined) changes.push({ change: 'create', policy, replaced: current });
    else if (same === current) changes.push({ change: 'keep', policy: same, replaced: null });
    else changes.push({ change: 'activate', policy: same, replaced: current });
  }
  const names = new Set(policies.map(({ name }) => name));
  const foreign = inForce.flatMap((policy) => (policy.team !== team && names.has(policy.name) ? [policy.name] : []));
  const unknown = [...names].filter((name) => !byName.has(name));
  const taken = [...new Set([...foreign, ...(await takenNames(unknown, team, versions))])];
  const own = inForce.filter((policy) => policy.team === team);
  return { changes: prune ? [...changes, ...pruned(own, policies)] : changes, faults, taken };
}

async function comparedVersions(
  policies: readonly PolicyContent[],
  byName: ReadonlyMap<string, Policy>,
  versions: PolicyVersions,
): Promise<ComparedVersions> {
  const desired = new Map(policies.map((policy) => [versionKey(policy), policy]));
  const same = new Map<string, Policy>();
  const faults = new Map<string, FieldFault>();
  const compare = async (stored: readonly Policy[]): Promise<void> => {
    for await (const policy of yieldBetween(stored)) {
      const key = versionKey(policy);
      const field = firstDifference(policy, requirePresent(desired.get(key), 'policy of this version'));
      if (field === undefined) same.set(key, policy);
      else faults.set(key, { field, message: differenceMessage(policy) });
    }
  };
  const inForce = [...byName.values()].filter((policy) => desired.has(versionKey(policy)));
  await compare(inForce);
  const current = new Set(inForce.map(versionKey));
  const others = policies.filter((policy) => !current.has(versionKey(policy)));
  for (let start = 0; start < others.length; start += versions.atOnce) {
    const some = others.slice(start, start + versions.atOnce);
    await compare(await versions.find(some.map(({ name, version }) => [name, version])));
  }
  return { same, faults };
}

function differenceMessage({ name, version }: Policy): string {
  return `differs from version ${version} of "${name}": a version is never edited, so give the change a new one`;
}

/** Returns those of the names whose newest version is not the team's. All versions of a name have the same team. */
async function takenNames(names: readonly string[], team: string | null, versions: PolicyVersions): Promise<string[]> {
  const sql = takenNamesSql(versions.dialect);
  const queries = names.map((name): RowQuery => {
    return { name: 'taken', sql, key: [name, team], dependsOn: [{ kind: POLICY, values: { name } }] };
  });
  const rows = await versions.run(queries);
  return names.filter((_, index) => rows[index]?.length === 1);
}

function takenNamesSql(dialect: Dialect): string {
  const [place, name, team] = (['place', 'name', 'team'] as const).map((column, index) =>
    dialect.jsonAt(index, { name: column, type: column === 'place' ? 'integer' : 'text' }),
  );
  const newest = `(SELECT max("createdSequence") FROM "policies" WHERE "name" = ${name})`;
  const own = `SELECT 1 FROM "policies" WHERE "createdSequence" = ${newest} AND "team" IS NOT DISTINCT FROM ${team}`;
  return `SELECT ${place} AS "place" FROM ${dialect.jsonElements('$1')} WHERE ${newest} IS NOT NULL AND NOT EXISTS (${own})`;
}

/** Returns the policies that the changes take out of force. */
export function goingOutOfForce(changes: readonly PolicyChange[]): Policy[] {
  return changes.flatMap((change) => (change.change === 'deactivate' ? [change.policy] : (change.replaced ?? [])));
}

function pruned(inForce: readonly Policy[], target: readonly PolicyContent[]): PolicyChange[] {
  const names = new Set(target.map(({ name }) => name));
  return inForce
    .filter(({ name }) => !names.has(name))
    .sort((left, right) => (left.name < right.name ? -1 : 1))
    .map((policy) => ({ change: 'deactivate', policy, replaced: null }));
}
