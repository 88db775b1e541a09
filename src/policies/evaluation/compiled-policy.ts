import type { DecidingPolicy, EvaluationRequest } from './evaluation-request';
import { POLICY_EFFECTS } from './policy-effect';
import type { PolicyEffect } from './policy-effect';
import { parseResourcePattern } from './resource-pattern';
import type { ResourcePattern } from './resource-pattern';
import { parseSubject } from './subject-pattern';

/** The members of a policy that say what it matches and what follows. The patterns are valid. */
export interface PolicyRules {
  readonly id: string;
  readonly name: string;
  readonly version: string;
  readonly effect: PolicyEffect;
  readonly subjects: readonly string[];
  readonly actions: readonly string[];
  readonly resourceTypes: readonly string[];
  readonly resources: readonly string[];
  readonly priority: number;
}

/** A set of names, or every name. */
export type Names = ReadonlySet<string> | 'any';

/** A policy in the form in which it is compared. */
export interface CompiledPolicy {
  readonly reference: DecidingPolicy;
  /** Orders by priority, then by strength of the effect; of the matching policies those of the highest rank decide. */
  readonly rank: number;
  /** Ids and names. */
  readonly agents: Names;
  readonly roles: Names;
  readonly actions: Names;
  readonly resourceTypes: Names;
  readonly resources: readonly ResourcePattern[];
}

export function compilePolicy(policy: PolicyRules): CompiledPolicy {
  const { id, name, version, effect } = policy;
  return {
    reference: Object.freeze({ id, name, version, effect }),
    rank: policy.priority * POLICY_EFFECTS.length + POLICY_EFFECTS.indexOf(effect),
    ...compileSubjects(policy.subjects),
    actions: policy.actions.includes('*') ? 'any' : new Set(policy.actions),
    resourceTypes: policy.resourceTypes.length === 0 ? 'any' : new Set(policy.resourceTypes),
    resources: compileResources(policy.resources),
  };
}

/** Highest rank first; within a rank the oldest first, since ids sort by creation. */
export function compareByRank(left: CompiledPolicy, right: CompiledPolicy): number {
  if (left.rank !== right.rank) return right.rank - left.rank;
  if (left.reference.id === right.reference.id) return 0;
  return left.reference.id < right.reference.id ? -1 : 1;
}

/** Whether the policy matches the request in everything but the resource path. */
export function matchesBesidesPath(policy: CompiledPolicy, request: EvaluationRequest): boolean {
  return (
    contains(policy.actions, request.action) &&
    contains(policy.resourceTypes, request.resourceType) &&
    (contains(policy.agents, request.subject.agentId) ||
      contains(policy.agents, request.subject.agentName) ||
      request.subject.roles.some((role) => contains(policy.roles, role)))
  );
}

function contains(names: Names, name: string): boolean {
  return names === 'any' || names.has(name);
}

function compileSubjects(subjects: readonly string[]): Pick<CompiledPolicy, 'agents' | 'roles'> {
  const patterns = subjects.map(parseSubject);
  const everyone = patterns.some((pattern) => pattern.kind === 'everyone');
  if (everyone) return { agents: 'any', roles: new Set() };
  const anyRole = patterns.some((pattern) => pattern.kind === 'anyRole');
  return {
    agents: new Set(patterns.flatMap((pattern) => (pattern.kind === 'agent' ? [pattern.idOrName] : []))),
    roles: anyRole ? 'any' : new Set(patterns.flatMap((pattern) => (pattern.kind === 'role' ? [pattern.role] : []))),
  };
}

function compileResources(resources: readonly string[]): readonly ResourcePattern[] {
  const patterns = new Map<string, ResourcePattern>();
  for (const text of resources) {
    const pattern = parseResourcePattern(text);
    if (pattern.kind === 'everything') return [pattern];
    patterns.set(`${pattern.kind} ${pattern.path}`, pattern);
  }
  return [...patterns.values()];
}
