import { OmitType } from '@nestjs/swagger';
import type { FieldFault } from '../../../core/errors/domain-error';
import { actionPatternFault } from '../../../core/values/action-pattern';
import { WholeRequest } from '../../../http/validation/dto';
import { Field, IntegerField, OneOf, OptionalText, RequiredText } from '../../../http/validation/fields';
import {
  type FieldText,
  listShape,
  type Presence,
  textShape,
  type TextListLimits,
} from '../../../http/validation/shapes';
import { QueryOneOf, QueryText } from '../../../http/validation/query-fields';
import { POLICY_EFFECTS, type PolicyEffect } from '../evaluation/evaluation';
import { listedTypeFault, resourcePatternFault } from '../patterns/resources';
import { MAX_PRINCIPAL_CHARACTERS, principalPatternFault } from '../patterns/principals';
import { subjectFault } from '../patterns/subjects';
import { APPROVAL, type ApprovalInput } from '../approval/approval-input';
import type { PolicyCondition } from '../conditions/condition';
import { CONDITIONS } from '../conditions/condition-input';
import { type LimitInput, LIMITS } from '../limits/limit-input';
import { TEAM } from '../../agents/team';
import { ListQuery } from '../../../http/lists/list.query';
import { Policy, POLICY_STATUSES, type PolicyStatus } from '../policy.entity';
import { ApiMember, type ResponseMapper, responseMapper } from '../../../http/openapi/response-members';

const MAX_ITEMS = 100;

/** Declares a list of a policy's patterns, which is optional if it may be empty. Repetitions do no harm. */
function PatternList(field: TextListLimits & FieldText<readonly string[]> & Presence): PropertyDecorator {
  const { minItems = 0, maxItems, item: limits } = field;
  const mayBeEmpty = minItems === 0;
  const item = textShape(limits);
  const described = { optional: mayBeEmpty, ...(mayBeEmpty && { default: [] }), ...field };
  const schema = { type: 'array', items: item.schema, minItems, maxItems };
  return Field({ ...listShape(item, minItems, maxItems, 'strings'), schema }, described);
}

const DOTTED_LABEL = /^[0-9A-Za-z]+(?:[.+-][0-9A-Za-z]+)*$/;

@WholeRequest(({ effect, approval, limits }) => [
  ...(approval === undefined || effect === 'require_approval' ? [] : [onlyWith('approval', 'require_approval')]),
  ...(isEmptyList(limits) || effect === 'allow' ? [] : [onlyWith('limits', 'allow')]),
])
export class CreatePolicyRequest {
  @RequiredText({
    max: 200,
    description: 'Its versions share it; one of them is in force.',
    example: 'collections-may-remind',
  })
  readonly name!: string;

  @RequiredText({ max: 50, description: 'Dotted label, new for this name.', example: '1.0', rule: versionFault })
  readonly version!: string;

  @OptionalText({
    max: 2_000,
    mayBeBlank: true,
    default: '',
    description: 'What the policy is for.',
    example: 'Collections agents may send reminders.',
  })
  readonly description?: string;

  @OneOf(POLICY_EFFECTS, {
    enumName: 'PolicyEffect',
    description:
      'Of the matching policies of the highest priority, deny takes precedence over require_approval, which takes precedence over allow.',
    example: 'allow',
  })
  readonly effect!: PolicyEffect;

  @PatternList({
    minItems: 1,
    maxItems: MAX_ITEMS,
    item: { max: 500, rule: subjectFault },
    description:
      '`*`: everybody. `role:<role>`, `role:*`: who has the role, any role. `agent:<id or name>`, or an agent id or name ' +
      'alone; `agent:*`: every agent. `kind:human`, `kind:machine`. `<type>:<id>`, `<type>:*`: subjects that are not agents. ' +
      'Names that nobody can have are listed in `warnings`.',
    example: ['role:collections'],
  })
  readonly subjects!: readonly string[];

  @PatternList({
    minItems: 1,
    maxItems: MAX_ITEMS,
    item: { max: 500, rule: actionPatternFault },
    description: 'Exact names of actions; with a final `*`, every action that begins with the rest; `*`: every action.',
    example: ['send-reminder'],
  })
  readonly actions!: readonly string[];

  @PatternList({
    minItems: 1,
    maxItems: MAX_ITEMS,
    item: { max: 500, rule: resourcePatternFault },
    description:
      '`*`: all. A name equals the resourceId. A path is compared with `resourceId` and `<resourceType>/<resourceId>`; ' +
      'with a trailing `/*` it matches everything below it. A URL is compared with `resourceId` alone, and `https://example.com/*` ' +
      'matches those of the host. One leading `/` is ignored. Percent-encoding as in `resourceId`.',
    example: ['invoices/*'],
  })
  readonly resources!: readonly string[];

  @PatternList({
    maxItems: MAX_ITEMS,
    item: { max: 100, rule: listedTypeFault },
    description:
      'Exact names of the resource types that it covers; none: any. For an allow, `<resourceType>/<resourceId>` counts where the resourceId has no `/`, or the type is listed here.',
    example: ['document'],
  })
  readonly resourceTypes?: readonly string[];

  @IntegerField({
    min: -(2 ** 31),
    max: 2 ** 31 - 1,
    optional: true,
    default: 0,
    description: 'Of the matching policies, only those with the highest number count.',
    example: 10,
  })
  readonly priority?: number;

  @Field(CONDITIONS, {
    optional: true,
    default: [],
    description:
      'All must hold. An allow matches when all are true, a deny or require_approval unless one is false: leaving a parameter out does not evade it.',
  })
  readonly conditions?: readonly PolicyCondition[];

  @Field(LIMITS, {
    optional: true,
    default: [],
    description:
      'With `allow` only: the policy matches while, for each limit, what was used in the window plus the requested use ' +
      'is at most `max`. No two limits may count the same.',
  })
  readonly limits?: readonly LimitInput[];

  @PatternList({
    optional: true,
    minItems: 1,
    maxItems: 50,
    item: { max: MAX_PRINCIPAL_CHARACTERS, rule: principalPatternFault },
    description:
      'On whose behalf: `*`, `agent:<id or name>`, `agent:*`, `role:<name>`, `<type>:<id>`, `<type>:*`. An allow matches only ' +
      'requests on behalf of one of them; a deny or require_approval also those on nobody’s behalf. Left out, it does not ' +
      'matter on whose behalf.',
  })
  readonly onBehalfOf?: readonly string[];

  @Field(APPROVAL, {
    optional: true,
    description: 'With `require_approval` only. Members left out get their defaults, which are returned.',
  })
  readonly approval?: ApprovalInput;

  @OptionalText({
    ...TEAM,
    description:
      'The team to whose agents alone it applies; part of every version of the name. Its priority must be below ' +
      '`TEAM_PRIORITY`. Default: that of the key; without one, none.',
  })
  readonly team?: string | null;
}

function onlyWith(field: string, effect: PolicyEffect): FieldFault {
  return { field, message: `is allowed with the effect ${effect} only` };
}

/** An empty list is the default. */
function isEmptyList(value: unknown): boolean {
  return value === undefined || (Array.isArray(value) && value.length === 0);
}

/** Returns the fault of a policy's version; undefined if it is valid. */
function versionFault(version: string): string | undefined {
  return DOTTED_LABEL.test(version)
    ? undefined
    : 'must be letters and digits, in parts joined by single ".", "+" or "-", such as 1.0 or 2.1.0-rc.1';
}

export class PolicyListQuery extends ListQuery {
  @QueryText({ max: 200, description: 'Only versions of this policy.' })
  readonly name?: string;

  @QueryOneOf(POLICY_STATUSES, { enumName: 'PolicyStatus', description: 'Only policies with this status.' })
  readonly status?: PolicyStatus;

  @QueryOneOf(POLICY_EFFECTS, { enumName: 'PolicyEffect', description: 'Only policies with this effect.' })
  readonly effect?: PolicyEffect;

  @QueryText({ max: TEAM.max, description: 'Only policies of this team.' })
  readonly team?: string;
}

export class PolicyResponse extends OmitType(Policy, ['createdSequence', 'onBehalfOf'] as const) {
  @ApiMember('On whose behalf it matches; null: on anybody’s, or nobody’s.', {
    type: [String],
    nullable: true,
    example: null,
  })
  readonly onBehalfOf!: readonly string[] | null;

  /** A request refuses an empty list, so the response has null, which a request accepts. */
  static from(this: void, { onBehalfOf, ...policy }: Policy): PolicyResponse {
    return shownPolicy({ ...policy, onBehalfOf: onBehalfOf.length === 0 ? null : onBehalfOf });
  }
}

const shownPolicy: ResponseMapper<PolicyResponse> = responseMapper(PolicyResponse);
