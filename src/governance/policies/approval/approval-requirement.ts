import { parseDuration } from '../../../core/values/duration';
import type { FaultInside } from '../../../http/validation/shapes';
import type { SumKey } from '../../../ledger/records/sum-key';
import { type RiskLevel, RISK_LEVELS } from '../../../core/config/variables/governance-variables';

/** The most that the approvers of a policy may give at once. */
export interface GrantAllowance {
  /** An ISO 8601 duration. */
  readonly for: string;
  /** Null: any number. */
  readonly uses: number | null;
  /** Whether it may be for other resources and other parameters than those asked for. */
  readonly wider: boolean;
}

/** What a reviewer gives with an approval: it is good for more than one action. */
export interface GivenGrant {
  /** An ISO 8601 duration. */
  readonly for: string;
  /** Null: as many as are allowed. */
  readonly uses: number | null;
  /** Patterns; null: exactly the resource asked for. */
  readonly resources: readonly string[] | null;
  readonly parameters: 'same' | 'any';
}

/** The least of several: each of them limits what may be given. Null where one allows no grant, or there are none. */
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

/** The member in which a grant goes beyond what is allowed, and what would be right. */
export function excessOf(given: GivenGrant, allowed: GrantAllowance | null): FaultInside | undefined {
  if (allowed === null)
    return { at: '', message: 'must be left out: the policies that require this approval allow no grant' };
  if (lengthOf(given.for) > lengthOf(allowed.for)) return { at: '.for', message: `must be at most ${allowed.for}` };
  if (given.uses !== null && allowed.uses !== null && given.uses > allowed.uses)
    return { at: '.uses', message: `must be at most ${allowed.uses}` };
  const onlyWider = 'must be left out: the policies that require this approval allow no wider grant';
  if (given.resources !== null && !allowed.wider) return { at: '.resources', message: onlyWider };
  if (given.parameters === 'any' && !allowed.wider) return { at: '.parameters', message: onlyWider };
  return undefined;
}

/** Whether two reviewers give the same, within what is allowed: durations as text, resources as sets. */
export function areSameGrants(one: GivenGrant, other: GivenGrant, { uses }: GrantAllowance): boolean {
  return (
    one.for === other.for &&
    (one.uses ?? uses) === (other.uses ?? uses) &&
    one.parameters === other.parameters &&
    setKeyOf(one.resources ?? []) === setKeyOf(other.resources ?? [])
  );
}

/** Names what is used of a grant among the sums that the ledger keeps. */
export function grantSum(id: string): SumKey {
  return { sum: JSON.stringify(['grant', id]), window: '', key: '' };
}

/** Milliseconds. */
export function lengthOf(duration: string): number {
  return parseDuration(duration) ?? Infinity;
}

/** The reviewers who may give some of the required approvals. */
export interface ApproverGroup {
  /** As in a policy; subjects that name no kind mean people. */
  readonly subjects: readonly string[];
  /** Number of approvals, by different reviewers. */
  readonly approvals: number;
  /** Only a review that is signed with a passkey counts; absent: any does. */
  readonly signed?: true;
}

/** What has to be approved before an action may proceed, combined from all policies that require it. */
export interface ApprovalRequirement {
  readonly riskLevel: RiskLevel;
  /** All of them are required, each by different reviewers. */
  readonly approvers: readonly ApproverGroup[];
  /** ISO 8601 durations: for the decision, and for executing once it is approved. */
  readonly decideWithin: string;
  readonly executeWithin: string;
  /** The most that its approvers may grant at once. Absent: each action needs an approval of its own. */
  readonly grant?: GrantAllowance;
}

/** The approvals in words: "1 of role:security and 2 of role:finance, signed". */
export function wantedApprovals(groups: readonly ApproverGroup[]): string {
  const wanted = groups.map(
    ({ subjects, approvals, signed }) => `${approvals} of ${subjects.join(', ')}${signed === true ? ', signed' : ''}`,
  );
  return wanted.join(' and ');
}

/** Groups that require the same have equal keys: the same sets of subjects with the same numbers, in any order. */
export function approversKey(groups: readonly ApproverGroup[]): string {
  const keys = groups.map(({ subjects, approvals, signed }) =>
    [setKeyOf(subjects), approvals, ...(signed === true ? ['signed'] : [])].join(' '),
  );
  return keys.sort().join();
}

const MOST_GROUPS = 50;
const MOST_APPROVALS = 200;

/** Keys of lists of subjects, compared as sets: policies keep their lists as long as they are in force. */
const setKeys = new WeakMap<readonly string[], string>();

/**
 * Combines the requirements of several policies, the oldest first: all their groups in order, where groups with the
 * same set of subjects are merged into the first one with the larger number, signed if one of them is; the highest risk; the
 * shortest durations.
 * One that {@link isTooLarge} may be incomplete. Null if there are none.
 */
export function combinedRequirement(requirements: readonly ApprovalRequirement[]): ApprovalRequirement | null {
  const [first] = requirements;
  if (first === undefined) return null;
  const groups = new Map<string, ApproverGroup>();
  let { riskLevel, decideWithin, executeWithin } = first;
  for (const requirement of requirements) {
    for (const group of requirement.approvers) {
      const key = setKeyOf(group.subjects);
      const known = groups.get(key);
      groups.set(key, known === undefined ? group : merged(known, group));
    }
    // Further requirements could only make it larger.
    if (groups.size > MOST_GROUPS) break;
    if (RISK_LEVELS.indexOf(requirement.riskLevel) > RISK_LEVELS.indexOf(riskLevel)) riskLevel = requirement.riskLevel;
    decideWithin = shorter(decideWithin, requirement.decideWithin);
    executeWithin = shorter(executeWithin, requirement.executeWithin);
  }
  const grant = leastAllowance(requirements.map((requirement) => requirement.grant));
  const approvers = [...groups.values()];
  return { riskLevel, approvers, decideWithin, executeWithin, ...(grant !== null && { grant }) };
}

function merged({ subjects, approvals, signed }: ApproverGroup, other: ApproverGroup): ApproverGroup {
  const isSigned = (signed ?? other.signed) === true;
  return { subjects, approvals: Math.max(approvals, other.approvals), ...(isSigned && { signed: true as const }) };
}

/** An approver: the registered person on whose behalf the agent acts. Without such a person, nobody matches. */
export const PRINCIPAL = 'principal';

/** The requirement for an agent that acts on behalf of this person. @param personId null if it acts for none */
export function requirementFor(requirement: ApprovalRequirement, personId: string | null): ApprovalRequirement {
  if (personId === null || !requirement.approvers.some(({ subjects }) => subjects.includes(PRINCIPAL)))
    return requirement;
  const named = (group: ApproverGroup): ApproverGroup => ({
    ...group,
    subjects: group.subjects.map((subject) => (subject === PRINCIPAL ? `agent:${personId}` : subject)),
  });
  const approvers = requirement.approvers.map(named);
  // Another group may name that person itself.
  return combinedRequirement([{ ...requirement, approvers }]) ?? requirement;
}

/** Whether it requires more than one decision can hold. */
export function isTooLarge({ approvers }: ApprovalRequirement): boolean {
  return approvers.length > MOST_GROUPS || sumOfApprovals(approvers) > MOST_APPROVALS;
}

/** If both are equally long, the first keeps its text. */
function shorter(left: string, right: string): string {
  return left !== right && lengthOf(right) < lengthOf(left) ? right : left;
}

/** Lists of the same subjects have equal keys. */
export function setKeyOf(subjects: readonly string[]): string {
  const known = setKeys.get(subjects);
  if (known !== undefined) return known;
  const key = JSON.stringify([...new Set(subjects)].sort());
  setKeys.set(subjects, key);
  return key;
}

export function sumOfApprovals(groups: readonly Pick<ApproverGroup, 'approvals'>[]): number {
  return groups.reduce((sum, { approvals }) => sum + approvals, 0);
}

/** Whether two lists of subjects are the same set. */
export function areEqualSets(left: readonly string[], right: readonly string[]): boolean {
  return setKeyOf(left) === setKeyOf(right);
}
