import {
  type RequiredApprovals,
  RISK_LEVELS,
  type RiskLevel,
} from '../../../core/config/variables/governance-variables';
import {
  type FaultInside,
  integerFault,
  oneOfFault,
  textFault,
  unknownMembers,
} from '../../../http/validation/value-rules';
import { durationFault } from '../../../core/values/duration';
import { subjectFault } from '../patterns/subjects';
import { type ApprovalRequirement, type ApproverGroup, areEqualSets } from './approval-requirement';

export const MOST_GROUPS = 10;
export const MOST_SUBJECTS = 100;
export const MOST_APPROVALS = 10;
export const LONGEST_SUBJECT = 500;
/** Characters; even the longest duration takes far fewer. */
export const LONGEST_DURATION = 100;

type Optional<Value> = { readonly [Member in keyof Value]?: Value[Member] | null };

/** A group of approvers as a client sends it. */
export type GivenGroup = { readonly subjects: readonly string[] } & Optional<{ readonly approvals: number }>;

/** The `approval` of a policy as a client sends it; null counts as left out. */
export type GivenApproval = Optional<Omit<ApprovalRequirement, 'approvers'> & { approvers: readonly GivenGroup[] }>;

type Rule = (value: unknown) => string | readonly FaultInside[] | undefined;

const APPROVAL_RULES: Readonly<Record<keyof GivenApproval, Rule>> = {
  riskLevel: (value) => oneOfFault(value, RISK_LEVELS),
  approvers: approversFault,
  decideWithin: (value) => textFault(value, { max: LONGEST_DURATION, rule: durationFault }),
  executeWithin: (value) => textFault(value, { max: LONGEST_DURATION, rule: durationFault }),
};

const GROUP_RULES: Readonly<Record<keyof GivenGroup, Rule>> = {
  subjects: subjectsFault,
  approvals: (value) => integerFault(value, 1, MOST_APPROVALS),
};

/** What is wrong with the `approval` of a policy; undefined when nothing is. */
export function approvalFault(value: unknown): string | readonly FaultInside[] | undefined {
  return membersFault(value, APPROVAL_RULES, []);
}

/** What is wrong with groups of approvers; undefined when nothing is. */
export function approversFault(value: unknown): string | readonly FaultInside[] | undefined {
  if (!Array.isArray(value) || value.length < 1 || value.length > MOST_GROUPS)
    return `must be an array of 1 to ${MOST_GROUPS} groups`;
  return value.flatMap((group: unknown, index) => at(`[${index}]`, membersFault(group, GROUP_RULES, ['subjects'])));
}

/** The same, for groups that are not merged: no two may have the same subjects. */
export function distinctApproversFault(value: unknown): string | readonly FaultInside[] | undefined {
  const found = approversFault(value);
  if (found !== undefined && found.length > 0) return found;
  const groups = value as readonly GivenGroup[];
  return groups.flatMap(({ subjects }, index) => {
    const first = groups.findIndex((other) => areEqualSets(other.subjects, subjects));
    if (first === index) return [];
    return [{ at: `[${index}].subjects`, message: `must not be those of the group [${first}] again` }];
  });
}

/** Whether groups are as {@link distinctApproversFault} wants them. */
export function areDistinctApprovers(value: unknown): value is readonly GivenGroup[] {
  const found = distinctApproversFault(value);
  return found === undefined || found.length === 0;
}

/** Fills in defaults: one approval. */
export function filledGroups(given: readonly GivenGroup[]): ApproverGroup[] {
  return given.map(({ subjects, approvals }) => ({ subjects, approvals: approvals ?? 1 }));
}

/** Fills in defaults: one person, or as many as the risk level requires; a day to decide, an hour to execute. */
export function filledApproval(given: GivenApproval, required: RequiredApprovals): ApprovalRequirement {
  const riskLevel: RiskLevel = given.riskLevel ?? 'medium';
  const everybody = [{ subjects: ['*'], approvals: required[riskLevel] }];
  return {
    riskLevel,
    approvers: given.approvers ? filledGroups(given.approvers) : everybody,
    decideWithin: given.decideWithin ?? 'P1D',
    executeWithin: given.executeWithin ?? 'PT1H',
  };
}

function membersFault(
  value: unknown,
  rules: Readonly<Record<string, Rule>>,
  required: readonly string[],
): string | readonly FaultInside[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'must be an object';
  const given = value as Readonly<Record<string, unknown>>;
  return [
    ...unknownMembers(given, Object.keys(rules)),
    ...Object.entries(rules).flatMap(([name, rule]) => {
      const member = Object.hasOwn(given, name) ? (given[name] ?? undefined) : undefined;
      return member === undefined && !required.includes(name) ? [] : at(`.${name}`, rule(member));
    }),
  ];
}

function subjectsFault(value: unknown): string | readonly FaultInside[] | undefined {
  if (value === undefined) return 'is required';
  if (!Array.isArray(value) || value.length < 1 || value.length > MOST_SUBJECTS)
    return `must be an array of 1 to ${MOST_SUBJECTS} strings`;
  return value.flatMap((subject: unknown, index) =>
    at(`[${index}]`, textFault(subject, { max: LONGEST_SUBJECT, rule: subjectFault })),
  );
}

function at(place: string, found: ReturnType<Rule>): readonly FaultInside[] {
  if (found === undefined) return [];
  if (typeof found === 'string') return [{ at: place, message: found }];
  return found.map((fault) => ({ ...fault, at: `${place}${fault.at}` }));
}
