import type { PolicyDefaultEffect, RequiredApprovals } from '../../core/config/variables/governance-variables';
import type { JsonObject, JsonValue } from '../../core/json/json-value';
import { canonicalJson } from '../../ledger/chain/canonical-json';
import { sha256 } from '../../ledger/chain/hash-chain';
import { filledConditions } from './conditions/condition-input';
import { filledLimits } from './limits/limit-input';
import { filledApproval } from './approval/approval-input';
import type { CreatePolicyRequest } from './dto/policy.dto';
import type { PolicyRules } from './evaluation/compiled-policy';
import { type Policy, POLICY } from './policy.entity';
import type { FieldFault } from '../../core/errors/domain-error';
import { yieldBetween } from '../../core/concurrency/time-slice';

/** The content of a policy version, with defaults filled in. */
export type PolicyContent = Omit<PolicyRules, 'id'> & { readonly description: string };

/** @param team team of the policy; null for none */
export function contentOf(
  request: CreatePolicyRequest,
  required: RequiredApprovals,
  team: string | null,
): PolicyContent {
  const { name, version, description = '', effect, subjects, actions, resources } = request;
  const { resourceTypes = [], priority = 0, conditions = [], limits = [], onBehalfOf = [], approval = {} } = request;
  return {
    name,
    version,
    effect,
    subjects,
    actions,
    resources,
    resourceTypes,
    priority,
    description,
    conditions: filledConditions(conditions),
    limits: filledLimits(limits),
    onBehalfOf,
    approval: effect === 'require_approval' ? filledApproval(approval, required) : null,
    team,
  };
}

/**
 * Returns the first member in which a stored policy differs from a content, comparing lists in order; undefined if they
 * are equal.
 */
export function firstDifference(stored: PolicyContent, content: PolicyContent): keyof PolicyContent | undefined {
  // Compared as stored, where a zero has no sign.
  const textOf = (member: keyof PolicyContent, { [member]: value }: PolicyContent): string =>
    canonicalJson(value as JsonValue);
  const members = Object.keys(content) as (keyof PolicyContent)[];
  return members.find((member) => textOf(member, stored) !== textOf(member, content));
}

/** Hashed members that are not part of a policy's content. */
const CIRCUMSTANCES: ReadonlySet<string> = new Set<keyof Policy>(['status', 'warnings', 'createdAt']);

/** RFC 8785 text of the content of a stored policy: its hashed form without `status`, `warnings` and `createdAt`. */
export function hashedContent(policy: Policy): string {
  const content: Record<string, JsonValue> = {};
  const members = policy as unknown as JsonObject;
  for (const name of POLICY.hashedMembers) if (!CIRCUMSTANCES.has(name)) content[name] = members[name] ?? null;
  for (const [name, absent = null] of Object.entries(POLICY.laterMembers ?? {})) {
    const value = members[name] ?? null;
    if (canonicalJson(value) !== canonicalJson(absent)) content[name] = value;
  }
  return canonicalJson(content);
}

/**
 * Version of the rules by which policies are evaluated, raised whenever the same policies would decide differently. A
 * migration raises the version of the schema with it, since processes of both must not write side by side.
 */
const EVALUATION = 4;
/** Versions that entries of the same database may name, the newest first. */
export const EVALUATIONS = [EVALUATION, 3, 2] as const;

/** Hex SHA-256 of the {@link hashedContent} of each policy in force, by id. */
export type ContentHashes = ReadonlyMap<string, { readonly hash: string }>;

/**
 * Hashes everything by which policies decide: the default effect, the rules of evaluation, and the policies in force
 * with their contents. Hex SHA-256 of the RFC 8785 form of `{ defaultEffect, evaluation, policies: [[id, content hash],
 * …] }`.
 */
export function rulesHash(
  hashes: ContentHashes,
  defaultEffect: PolicyDefaultEffect,
  evaluation: number = EVALUATION,
): string {
  const policies = Array.from(hashes, ([id, { hash }]) => [id, hash] as const).sort(([one], [other]) =>
    one < other ? -1 : 1,
  );
  return sha256(JSON.stringify({ defaultEffect, evaluation, policies }));
}

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

/** Changes that lead to the desired set. */
interface FoundChanges {
  readonly changes: readonly PolicyChange[];
  /** Faults of versions that exist with other content: then nothing can be changed. */
  readonly faults: readonly FieldFault[];
  /** Names that policies of others have taken. */
  readonly taken: readonly string[];
}

function versionKey({ name, version }: Pick<Policy, 'name' | 'version'>): string {
  return JSON.stringify([name, version]);
}

/**
 * Finds the changes that lead to the desired set, in its order, followed by the removals of `prune`, by name.
 * @param inForce all policies in force
 * @param find finds the policies that have one of the keys in these columns
 */
export async function policyChanges(
  { policies, prune, team }: WantedPolicies,
  inForce: readonly Policy[],
  find: (columns: readonly ('name' | 'version')[], keys: readonly (readonly string[])[]) => Promise<readonly Policy[]>,
): Promise<FoundChanges> {
  const byName = new Map(inForce.map((policy) => [policy.name, policy]));
  const others = policies.filter(({ name, version }) => byName.get(name)?.version !== version);
  const existing = await find(
    ['name', 'version'],
    others.map(({ name, version }) => [name, version]),
  );
  const outOfForce = new Map(existing.map((policy) => [versionKey(policy), policy]));
  const faults: FieldFault[] = [];
  const changes: PolicyChange[] = [];
  // All versions of a name have the team of the first.
  const unknown = policies.filter(({ name }) => !byName.has(name)).map(({ name }) => [name]);
  const earlier = unknown.length === 0 ? [] : await find(['name'], unknown);
  const names = new Set(policies.map(({ name }) => name));
  const foreign = [...inForce, ...earlier].filter((policy) => policy.team !== team && names.has(policy.name));
  for await (const [index, policy] of yieldBetween(policies.entries())) {
    const current = byName.get(policy.name) ?? null;
    const isCurrent = current?.version === policy.version;
    const same = isCurrent ? current : outOfForce.get(versionKey(policy));
    if (same === undefined) {
      changes.push({ change: 'create', policy, replaced: current });
      continue;
    }
    const member = firstDifference(same, policy);
    const message = `differs from version ${same.version} of "${same.name}": a version is never edited, so give the change a new one`;
    if (member !== undefined) faults.push({ field: `policies[${index}].${member}`, message });
    if (isCurrent) changes.push({ change: 'keep', policy: same, replaced: null });
    else changes.push({ change: 'activate', policy: same, replaced: current });
  }
  const own = inForce.filter((policy) => policy.team === team);
  const taken = [...new Set(foreign.map(({ name }) => name))];
  return { changes: prune ? [...changes, ...pruned(own, policies)] : changes, faults, taken };
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
