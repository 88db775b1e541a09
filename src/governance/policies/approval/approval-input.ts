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
  type GrantAllowance,
  areEqualSets,
} from './approval-requirement';

type Optional<Value> = { readonly [Member in keyof Value]?: Value[Member] | null };

/** A group of approvers as a client sends it. */
export type GivenGroup = { readonly subjects: readonly string[] } & Optional<{
  readonly approvals: number;
  readonly signed: boolean;
}>;

/** The `approval` of a policy as a client sends it; null counts as left out. */
export type ApprovalInput = Optional<
  Omit<ApprovalRequirement, 'approvers' | 'grant'> & { approvers: readonly GivenGroup[]; grant: GivenAllowance }
>;

type GivenAllowance = Pick<GrantAllowance, 'for'> & Optional<Omit<GrantAllowance, 'for'>>;

const GROUP = objectShape({
  subjects: member(listShape(textShape({ max: 500, rule: subjectFault }), 1, 100, 'strings'), {
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
});

const APPROVERS = listShape(GROUP, 1, 10, 'groups');

/** Characters; even the longest duration takes far fewer. */
const DURATION = textShape({ max: 100, rule: durationFault });

/** The longest time for which an approval may be given. */
const LONGEST = 'P90D';

export const GRANT_DURATION = textShape({
  max: 100,
  rule: (text) =>
    parseDuration(text, parseDuration(LONGEST)) === undefined
      ? `must be an ISO 8601 duration between one second and ${LONGEST}, such as "PT1H" or "P30D"`
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

export const APPROVAL = objectShape({
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

/** Finds what is wrong with groups that are not merged: no two may have the same subjects. */
const distinctApproversFault: MemberRule = (value) => {
  const found = APPROVERS.rule(value);
  if (found !== undefined && found.length > 0) return found;
  const groups = value as readonly GivenGroup[];
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

/** Whether groups are as {@link distinctApproversFault} wants them. */
export function areDistinctApprovers(value: unknown): value is readonly GivenGroup[] {
  const found = distinctApproversFault(value);
  return found === undefined || found.length === 0;
}

/** Fills in defaults: one approval, unsigned. */
export function filledGroups(given: readonly GivenGroup[]): ApproverGroup[] {
  return given.map(({ subjects, approvals, signed }) => ({
    subjects,
    approvals: approvals ?? 1,
    ...(signed === true && { signed }),
  }));
}

/** Fills in defaults: one person, or as many as the risk level requires; a day to decide, an hour to execute. */
export function filledApproval(given: ApprovalInput, required: RequiredApprovals): ApprovalRequirement {
  const { grant } = given;
  const riskLevel: RiskLevel = given.riskLevel ?? 'medium';
  const everybody = [{ subjects: ['*'], approvals: required[riskLevel] }];
  return {
    riskLevel,
    approvers: given.approvers ? filledGroups(given.approvers) : everybody,
    decideWithin: given.decideWithin ?? 'P1D',
    executeWithin: given.executeWithin ?? 'PT1H',
    ...(grant && { grant: { for: grant.for, uses: grant.uses ?? null, wider: grant.wider ?? false } }),
  };
}

export class ApproverGroupResponse {
  @ApiProperty({ type: [String], example: ['role:finance'] })
  readonly subjects!: readonly string[];

  @ApiMember('By different reviewers.', { type: 'integer', example: 1 })
  readonly approvals!: number;

  @ApiMember('Only reviews signed with a passkey count; absent: any review counts.', { required: false, example: true })
  readonly signed?: true;
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
