import { parseDuration } from '../../../core/values/duration';
import type { FaultInside } from '../../../http/validation/shapes';
import type { SumKey } from '../../../ledger/records/sum-key';
import { type RiskLevel, RISK_LEVELS } from '../../../core/config/variables/governance-variables';

/** The most that the approvers of a policy may grant at once. */
export interface GrantAllowance {
  /** An ISO 8601 duration. */
  readonly for: string;
  /** Number of uses; null if it has no limit. */
  readonly uses: number | null;
  /** True if the grant may cover other resources and parameters than the requested ones. */
  readonly wider: boolean;
}

/** A grant that a reviewer gives with an approval, for more than one action. */
export interface GrantInput {
  /** An ISO 8601 duration. */
  readonly for: string;
  /** Number of uses; null for as many as are allowed. */
  readonly uses: number | null;
  /** Resource patterns; null for exactly the requested resource. */
  readonly resources: readonly string[] | null;
  readonly parameters: 'same' | 'any';
}

/**
 * Returns the least of several allowances, each of which limits a grant. Null if one allows no grant, or there are
 * none.
 */
function leastAllowance(allowances: readonly (GrantAllowance | undefined)[]): GrantAllowance | null {
  let least: GrantAllowance | null = null;
  for (const allowance of allowances) {
    if (allowance === undefined) return null;
    least = least === null ? allowance : lesser(least, allowance);
  }
  return least;
}

function lesser(one: GrantAllowance, other: GrantAllowance): GrantAllowance {
  return {
    for: shorter(one.for, other.for),
    uses: one.uses === null || (other.uses !== null && other.uses < one.uses) ? other.uses : one.uses,
    wider: one.wider && other.wider,
  };
}

/** Returns the fault of the member in which a grant exceeds the allowance. */
export function excessOf(input: GrantInput, allowed: GrantAllowance | null): FaultInside | undefined {
  if (allowed === null)
    return { at: '', message: 'must be left out: the policies that require this approval allow no grant' };
  if (lengthOf(input.for) > lengthOf(allowed.for)) return { at: '.for', message: `must be at most ${allowed.for}` };
  if (input.uses !== null && allowed.uses !== null && input.uses > allowed.uses)
    return { at: '.uses', message: `must be at most ${allowed.uses}` };
  const onlyWider = 'must be left out: the policies that require this approval allow no wider grant';
  if (input.resources !== null && !allowed.wider) return { at: '.resources', message: onlyWider };
  if (input.parameters === 'any' && !allowed.wider) return { at: '.parameters', message: onlyWider };
  return undefined;
}

/**
 * True if two reviewers give the same grant, within the allowance; durations are compared as text, resources as sets.
 */
export function areSameGrants(one: GrantInput, other: GrantInput, { uses }: GrantAllowance): boolean {
  return (
    one.for === other.for &&
    (one.uses ?? uses) === (other.uses ?? uses) &&
    one.parameters === other.parameters &&
    setKeyOf(one.resources ?? []) === setKeyOf(other.resources ?? [])
  );
}

/** Returns the key of the sum of a grant's uses. */
export function grantSum(id: string): SumKey {
  return { sum: JSON.stringify(['grant', id]), window: '', key: '' };
}

/** Returns the length in milliseconds. */
export function lengthOf(duration: string): number {
  return parseDuration(duration) ?? Infinity;
}

/** The reviewers who may give some of the required approvals. */
export interface ApproverGroup {
  /** Subjects as in a policy; those that name no kind mean people. */
  readonly subjects: readonly string[];
  /** Number of approvals, by different reviewers. */
  readonly approvals: number;
  /** True if only reviews signed with a passkey count; absent if all do. */
  readonly signed?: true;
  /** Additional people if the group is not filled in time; absent without any. */
  readonly escalate?: Escalation;
}

/** Returns every subject that a group names, those of its escalation included, whether it has taken effect or not. */
export function everySubjectOf({
  subjects,
  escalate,
}: Pick<ApproverGroup, 'subjects'> & { readonly escalate?: Pick<Escalation, 'subjects'> }): readonly string[] {
  return escalate === undefined ? subjects : [...subjects, ...escalate.subjects];
}

/** Returns the subjects of a group and, once it has escalated, those of the escalation. */
export function currentSubjects(group: ApproverGroup): readonly string[] {
  return group.escalate?.at === undefined ? group.subjects : everySubjectOf(group);
}

/** Lets more people fill a group that is not filled in time. */
export interface Escalation {
  /** ISO 8601 duration from the proposal on. */
  readonly after: string;
  /** Subjects as in a policy. */
  readonly subjects: readonly string[];
  /** Time at which it took effect, in ISO 8601; absent until then, and in policies. */
  readonly at?: string;
}

/** The required approval of an action, combined from all policies that require it. */
export interface ApprovalRequirement {
  readonly riskLevel: RiskLevel;
  /** Groups that are all required, each filled by different reviewers. */
  readonly approvers: readonly ApproverGroup[];
  /** ISO 8601 durations: for the decision, and for the execution after the approval. */
  readonly decideWithin: string;
  readonly executeWithin: string;
  /** The most that its approvers may grant at once; absent if each action needs its own approval. */
  readonly grant?: GrantAllowance;
}

/** The approvals in words: "1 of role:security and 2 of role:finance, signed". */
export function wantedApprovals(groups: readonly ApproverGroup[]): string {
  const texts = groups.map(
    (group) => `${group.approvals} of ${currentSubjects(group).join(', ')}${group.signed === true ? ', signed' : ''}`,
  );
  return texts.join(' and ');
}

/**
 * Returns equal keys for groups that require the same: the same sets of subjects with the same numbers, in any order.
 */
export function approversKey(groups: readonly ApproverGroup[]): string {
  const keys = groups.map(({ subjects, approvals, signed, escalate }) =>
    [
      ...[setKeyOf(subjects), approvals, ...(signed === true ? ['signed'] : [])],
      ...(escalate === undefined ? [] : [escalate.after, setKeyOf(escalate.subjects)]),
    ].join(' '),
  );
  return keys.sort().join();
}

const MAX_GROUPS = 50;
const MAX_APPROVALS = 200;

/** Keys of lists of subjects, compared as sets: policies keep their lists as long as they are in force. */
const setKeys = new WeakMap<readonly string[], string>();

/**
 * Combines the requirements of several policies, the oldest first. The groups stay in order; those with the same set of
 * subjects merge into the first, with the larger number, signed if one of them is, with an escalation if all have one.
 * The risk is the highest, durations are the shortest. A result that {@link isTooLarge} may be incomplete. Null if
 * there are no requirements.
 */
export function combinedRequirement(requirements: readonly ApprovalRequirement[]): ApprovalRequirement | null {
  const [first] = requirements;
  if (first === undefined) return null;
  const groups = new Map<string, ApproverGroup>();
  let { riskLevel, decideWithin, executeWithin } = first;
  for (const requirement of requirements) {
    for (const group of requirement.approvers) {
      const key = setKeyOf(group.subjects);
      const earlier = groups.get(key);
      groups.set(key, earlier === undefined ? group : merged(earlier, group));
    }
    // Further requirements could only make it larger.
    if (groups.size > MAX_GROUPS) break;
    if (RISK_LEVELS.indexOf(requirement.riskLevel) > RISK_LEVELS.indexOf(riskLevel)) riskLevel = requirement.riskLevel;
    decideWithin = shorter(decideWithin, requirement.decideWithin);
    executeWithin = shorter(executeWithin, requirement.executeWithin);
  }
  const grant = leastAllowance(requirements.map((requirement) => requirement.grant));
  const approvers = [...groups.values()];
  return { riskLevel, approvers, decideWithin, executeWithin, ...(grant !== null && { grant }) };
}

function merged({ subjects, approvals, signed, escalate }: ApproverGroup, other: ApproverGroup): ApproverGroup {
  const isSigned = (signed ?? other.signed) === true;
  const escalation = mergedEscalation(escalate, other.escalate);
  return {
    subjects,
    approvals: Math.max(approvals, other.approvals),
    ...(isSigned && { signed: true as const }),
    ...(escalation !== undefined && { escalate: escalation }),
  };
}

/** Merges escalations: each of them limits who may also fill the group, and from when on. */
function mergedEscalation(one: Escalation | undefined, other: Escalation | undefined): Escalation | undefined {
  if (one === undefined || other === undefined) return undefined;
  const subjects = one.subjects.filter((subject) => other.subjects.includes(subject));
  const after = lengthOf(other.after) > lengthOf(one.after) ? other.after : one.after;
  return subjects.length === 0 ? undefined : { after, subjects };
}

/**
 * Subject of an approver who is the registered person on whose behalf the agent acts. Without such a person, nobody
 * matches.
 */
export const PRINCIPAL = 'principal';

/**
 * Returns the requirement for an agent that acts on behalf of a person. @param personId id of the person; null without
 * one
 */
export function requirementFor(requirement: ApprovalRequirement, personId: string | null): ApprovalRequirement {
  const namesPrincipal = (group: ApproverGroup): boolean => everySubjectOf(group).includes(PRINCIPAL);
  if (personId === null || !requirement.approvers.some(namesPrincipal)) return requirement;
  const withPersonId = (subjects: readonly string[]): string[] =>
    subjects.map((subject) => (subject === PRINCIPAL ? `agent:${personId}` : subject));
  const withPerson = ({ escalate, ...group }: ApproverGroup): ApproverGroup => ({
    ...group,
    subjects: withPersonId(group.subjects),
    ...(escalate !== undefined && { escalate: { ...escalate, subjects: withPersonId(escalate.subjects) } }),
  });
  const approvers = requirement.approvers.map(withPerson);
  // Another group may name that person itself.
  return combinedRequirement([{ ...requirement, approvers }]) ?? requirement;
}

/** True if the requirement exceeds what a decision can contain. */
export function isTooLarge({ approvers }: ApprovalRequirement): boolean {
  return approvers.length > MAX_GROUPS || sumOfApprovals(approvers) > MAX_APPROVALS;
}

/** Returns the shorter duration; the first if both are equally long. */
function shorter(left: string, right: string): string {
  return left !== right && lengthOf(right) < lengthOf(left) ? right : left;
}

/** Returns equal keys for lists of the same subjects. */
export function setKeyOf(subjects: readonly string[]): string {
  const cached = setKeys.get(subjects);
  if (cached !== undefined) return cached;
  const key = JSON.stringify([...new Set(subjects)].sort());
  setKeys.set(subjects, key);
  return key;
}

export function sumOfApprovals(groups: readonly Pick<ApproverGroup, 'approvals'>[]): number {
  return groups.reduce((sum, { approvals }) => sum + approvals, 0);
}

/** True if two lists of subjects are the same set. */
export function areEqualSets(left: readonly string[], right: readonly string[]): boolean {
  return setKeyOf(left) === setKeyOf(right);
}
