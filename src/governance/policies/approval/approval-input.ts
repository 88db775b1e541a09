import { ApiProperty } from '@nestjs/swagger';
import {
  type RequiredApprovals,
  RISK_LEVELS,
  type RiskLevel,
} from '../../../core/config/variables/governance-variables';
import { durationFault, parseDuration } from '../../../core/values/duration';
import {
  booleanShape,
  choiceShape,
  integerShape,
  listShape,
  member,
  objectShape,
  textShape,
  type FieldText,
  type MemberRule,
} from '../../../http/validation/shapes';
import { ApiMember } from '../../../http/openapi/response-members';
import { Field } from '../../../http/validation/fields';
import { subjectFault } from '../patterns/subjects';
import {
  type ApprovalRequirement,
  type ApproverGroup,
  type Escalation,
  type GrantAllowance,
  areEqualSets,
  lengthOf,
} from './approval-requirement';

type Optional<Value> = { readonly [Member in keyof Value]?: Value[Member] | null };

/** A group of approvers as a client sends it. */
export type GroupInput = { readonly subjects: readonly string[] } & Optional<{
  readonly approvals: number;
  readonly signed: boolean;
  readonly escalate: Pick<Escalation, 'after' | 'subjects'>;
}>;

/** The `approval` of a policy as a client sends it; null counts as left out. */
export type ApprovalInput = Optional<
  Omit<ApprovalRequirement, 'approvers' | 'grant'> & { approvers: readonly GroupInput[]; grant: AllowanceInput }
>;

type AllowanceInput = Pick<GrantAllowance, 'for'> & Optional<Omit<GrantAllowance, 'for'>>;

/** Even the longest duration has far fewer characters. */
const DURATION = textShape({ max: 100, rule: durationFault });

const SUBJECTS = listShape(textShape({ max: 500, rule: subjectFault }), 1, 100, 'strings');

const ESCALATION = objectShape({
  after: member(DURATION, {
    description: 'An ISO 8601 duration, shorter than `decideWithin`: so long after the proposal.',
  }),
  subjects: member(SUBJECTS, { description: 'Who may fill the group as well from then on.' }),
});

const GROUP = objectShape({
  subjects: member(SUBJECTS, {
    description:
      'As in a policy. `*`, `agent:*`, `role:<role>` and `role:*` match people only: a machine belongs to a group only if it is named, or by `kind:machine`. ' +
      '`principal` is the registered person on whose behalf the agent acts.',
  }),
  approvals: member(integerShape(1, 10), { optional: true, default: 1, description: 'By different reviewers.' }),
  signed: member(booleanShape(), {
    optional: true,
    default: false,
    description: 'Whether only a review that the reviewer signed with a passkey counts.',
  }),
  escalate: member(ESCALATION, {
    optional: true,
    description: 'Who may fill the group as well, if it is not filled in time. Default: nobody.',
  }),
});

const APPROVERS = listShape(GROUP, 1, 10, 'groups');

/** Longest duration of a grant. */
const MAX_GRANT_DURATION = 'P90D';

export const GRANT_DURATION = textShape({
  max: 100,
  rule: (text) =>
    parseDuration(text, parseDuration(MAX_GRANT_DURATION)) === undefined
      ? `must be an ISO 8601 duration between one second and ${MAX_GRANT_DURATION}, such as "PT1H" or "P30D"`
      : undefined,
});
export const GRANT_USES = integerShape(1, 10_000);

const GRANT = objectShape({
  for: member(GRANT_DURATION, { description: 'An ISO 8601 duration of at most 90 days.' }),
  uses: member(GRANT_USES, { optional: true, description: 'Default: any number.' }),
  wider: member(booleanShape(), {
    optional: true,
    default: false,
    description: 'Whether they may also give it for other resources and for any parameters.',
  }),
});

const APPROVAL_MEMBERS = objectShape({
  riskLevel: member(choiceShape(RISK_LEVELS), { optional: true, default: 'medium' }),
  approvers: member(APPROVERS, {
    optional: true,
    description:
      'Groups, all of which must approve, each with different reviewers. Default: any people, as many as ' +
      '`REQUIRED_APPROVALS` says.',
  }),
  decideWithin: member(DURATION, {
    optional: true,
    default: 'P1D',
    description: 'ISO 8601: `P<n>W`, or `P[<n>D][T[<n>H][<n>M][<n>S]]`; from one second to 365 days.',
  }),
  executeWithin: member(DURATION, {
    optional: true,
    default: 'PT1H',
    description: 'How long an approval is valid.',
  }),
  grant: member(GRANT, {
    optional: true,
    description: 'The most that its approvers may grant at once. Default: each action needs an approval of its own.',
  }),
});

const DEFAULT_DECIDE_WITHIN = 'P1D';

/** The `approval` of a policy, in which escalations precede the expiry of decisions. */
export const APPROVAL: typeof APPROVAL_MEMBERS = {
  ...APPROVAL_MEMBERS,
  rule: (value) => {
    const faults = APPROVAL_MEMBERS.rule(value);
    if (faults !== undefined && faults.length > 0) return faults;
    const { approvers, decideWithin } = value as ApprovalInput;
    return lateEscalations(approvers ?? [], lengthOf(decideWithin ?? DEFAULT_DECIDE_WITHIN)).map((index) => ({
      at: `.approvers[${index}].escalate.after`,
      message: `must be shorter than decideWithin, which is ${decideWithin ?? DEFAULT_DECIDE_WITHIN}`,
    }));
  },
};

/** Returns the indexes of the groups that would escalate too late. @param length time to decide, in milliseconds */
export function lateEscalations(groups: readonly Pick<GroupInput, 'escalate'>[], length: number): number[] {
  return groups.flatMap(({ escalate }, index) => (escalate && lengthOf(escalate.after) >= length ? [index] : []));
}

/** Returns faults of groups that are not merged: no two may have the same subjects. */
const distinctApproversFault: MemberRule = (value) => {
  const faults = APPROVERS.rule(value);
  if (faults !== undefined && faults.length > 0) return faults;
  const groups = value as readonly GroupInput[];
  return groups.flatMap(({ subjects }, index) => {
    const first = groups.findIndex((other) => areEqualSets(other.subjects, subjects));
    if (first === index) return [];
    return [{ at: `[${index}].subjects`, message: `must not be those of the group [${first}] again` }];
  });
};

/** Groups of approvers, no two of them with the same subjects. */
export function ApproversField(field: FieldText<readonly ApproverGroup[]>): PropertyDecorator {
  return Field({ ...APPROVERS, rule: distinctApproversFault }, { ...field, optional: true });
}

/** True if groups have no fault by {@link distinctApproversFault}. */
export function areDistinctApprovers(value: unknown): value is readonly GroupInput[] {
  const faults = distinctApproversFault(value);
  return faults === undefined || faults.length === 0;
}

/** Fills in defaults: one approval, unsigned. */
export function filledGroups(input: readonly GroupInput[]): ApproverGroup[] {
  return input.map(({ subjects, approvals, signed, escalate }) => ({
    subjects,
    approvals: approvals ?? 1,
    ...(signed === true && { signed }),
    ...(escalate && { escalate: { after: escalate.after, subjects: escalate.subjects } }),
  }));
}

/** Fills in defaults: one person, or as many as the risk level requires; a day to decide, an hour to execute. */
export function filledApproval(input: ApprovalInput, required: RequiredApprovals): ApprovalRequirement {
  const { grant } = input;
  const riskLevel: RiskLevel = input.riskLevel ?? 'medium';
  const everybody = [{ subjects: ['*'], approvals: required[riskLevel] }];
  return {
    riskLevel,
    approvers: input.approvers ? filledGroups(input.approvers) : everybody,
    decideWithin: input.decideWithin ?? DEFAULT_DECIDE_WITHIN,
    executeWithin: input.executeWithin ?? 'PT1H',
    ...(grant && { grant: { for: grant.for, uses: grant.uses ?? null, wider: grant.wider ?? false } }),
  };
}

class EscalationResponse {
  @ApiMember('An ISO 8601 duration: so long after the proposal.', { example: 'PT4H' })
  readonly after!: string;

  @ApiProperty({ type: [String], example: ['role:management'] })
  readonly subjects!: readonly string[];
}

export class ApproverGroupResponse {
  @ApiProperty({ type: [String], example: ['role:finance'] })
  readonly subjects!: readonly string[];

  @ApiMember('By different reviewers.', { type: 'integer', example: 1 })
  readonly approvals!: number;

  @ApiMember('Only reviews signed with a passkey count; absent: any review counts.', { required: false, example: true })
  readonly signed?: true;

  @ApiMember('Who may fill the group as well, if it is not filled in time. Absent: nobody.', {
    type: EscalationResponse,
    required: false,
  })
  readonly escalate?: EscalationResponse;
}

export class GrantAllowanceResponse {
  @ApiMember('An ISO 8601 duration.', { example: 'PT1H' })
  readonly for!: string;

  @ApiMember('Null: any number.', { type: 'integer', nullable: true, example: 10 })
  readonly uses!: number | null;

  @ApiMember('Whether it may be for other resources and for any parameters.', { example: false })
  readonly wider!: boolean;
}

export class ApprovalResponse {
  @ApiProperty({ enum: RISK_LEVELS, enumName: 'RiskLevel', example: 'medium' })
  readonly riskLevel!: RiskLevel;

  @ApiMember('All groups have to approve.', { type: [ApproverGroupResponse] })
  readonly approvers!: readonly ApproverGroupResponse[];

  @ApiMember('How much time there is to decide; an ISO 8601 duration.', { example: 'P1D' })
  readonly decideWithin!: string;

  @ApiMember('How long an approval is valid; an ISO 8601 duration.', { example: 'PT1H' })
  readonly executeWithin!: string;

  @ApiMember('The most that its approvers may grant at once. Absent: each action needs an approval of its own.', {
    type: GrantAllowanceResponse,
    required: false,
  })
  readonly grant?: GrantAllowanceResponse;
}
