import { isDeepStrictEqual } from 'node:util';
import type { PolicyDefaultEffect, RequiredApprovals } from '../../core/config/variables/governance-variables';
import type { JsonObject, JsonValue } from '../../core/json/json-value';
import { canonicalJson } from '../../ledger/chain/canonical-json';
import { sha256 } from '../../ledger/chain/hash-chain';
import { filledLimits } from './limits/given-limits';
import { filledApproval } from './approval/given-approval';
import type { CreatePolicyRequest } from './dto/policy.requests';
import type { PolicyRules } from './evaluation/compiled-policy';
import { POLICY, type Policy } from './policy.entity';

/** The content of a policy version, with defaults filled in. */
export type PolicyContent = Omit<PolicyRules, 'id'> & { readonly description: string };

const COMPARED: readonly (keyof PolicyContent)[] = [
  'effect',
  'subjects',
  'actions',
  'resources',
  'resourceTypes',
  'priority',
  'description',
  'conditions',
  'limits',
  'onBehalfOf',
  'approval',
];

export function contentOf(request: CreatePolicyRequest, required: RequiredApprovals): PolicyContent {
  const { name, version, description = '', effect, subjects, actions, resources } = request;
  const { resourceTypes = [], priority = 0, conditions = [], limits = [], onBehalfOf = [], approval = {} } = request;
  const rules = {
    effect,
    subjects,
    actions,
    resources,
    resourceTypes,
    priority,
    conditions,
    limits: filledLimits(limits),
    onBehalfOf,
  };
  const filled = effect === 'require_approval' ? filledApproval(approval, required) : null;
  return { name, version, description, ...rules, approval: filled };
}

/** The first member in which two contents differ, comparing lists in order; undefined if they are equal. */
export function firstDifference(left: PolicyContent, right: PolicyContent): keyof PolicyContent | undefined {
  return COMPARED.find((member) => !areEqual(left[member], right[member]));
}

/** A zero has no sign once it is stored. */
function areEqual(left: PolicyContent[keyof PolicyContent], right: PolicyContent[keyof PolicyContent]): boolean {
  return isDeepStrictEqual(left, right) || canonicalJson(left as JsonValue) === canonicalJson(right as JsonValue);
}

/** Hashed members that are no part of what a policy says. */
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
 * The versions of the rules by which policies are evaluated, the current one last: raised whenever the same policies
 * would decide otherwise. 2: on whose behalf an agent acts, and limits.
 */
export const EVALUATIONS = [1, 2] as const;
const CURRENT = 2;

/** Of each policy in force, by id, the hex SHA-256 of its {@link hashedContent}. */
export type ContentHashes = ReadonlyMap<string, string>;

/**
 * Identifies everything that policies decide by: the default effect, the rules of evaluation, and the policies in force
 * with their contents. Hex SHA-256 of the RFC 8785 form of `{ defaultEffect, evaluation, policies: [[id, content hash], …] }`.
 */
export function rulesHash(
  hashes: ContentHashes,
  defaultEffect: PolicyDefaultEffect,
  evaluation: (typeof EVALUATIONS)[number] = CURRENT,
): string {
  const policies = [...hashes].sort(([one], [other]) => (one < other ? -1 : 1));
  return sha256(JSON.stringify({ defaultEffect, evaluation, policies }));
}
