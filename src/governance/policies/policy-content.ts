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
