import { IntegerField } from '../../http/validation/body-fields';
import { OneOf, OptionalText, RequiredText } from '../../http/validation/text-fields';
import { actionFault } from '../evaluation/action-pattern';
import type { PolicyEffect } from '../evaluation/policy-effect';
import { listedTypeFault, resourcePatternFault } from '../evaluation/resource-pattern';
import { subjectFault } from '../evaluation/subject-pattern';
import { versionFault } from '../policy-version';
import { PatternList } from './pattern-list.decorator';

/** The effects a policy can be created with; the evaluation knows `require_approval` too. */
const EFFECTS = ['allow', 'deny'] as const satisfies readonly PolicyEffect[];

export class CreatePolicyRequest {
  @RequiredText({
    max: 200,
    description: 'Its versions share it; one of them is in force.',
    example: 'billing-may-invoice',
  })
  readonly name!: string;

  @RequiredText({ max: 50, description: 'Dotted label, new for this name.', example: '1.0', rule: versionFault })
  readonly version!: string;

  @OptionalText({
    max: 2_000,
    mayBeBlank: true,
    default: '',
    description: 'What the policy is for.',
    example: 'Billing agents may send invoices.',
  })
  readonly description?: string;

  @OneOf(EFFECTS, {
    description: 'Of the matching policies of the highest priority, deny beats allow.',
    example: 'allow',
  })
  readonly effect!: (typeof EFFECTS)[number];

  @PatternList({
    minItems: 1,
    maxLength: 500,
    rule: subjectFault,
    description:
      '`*`: every agent. `role:<role>`, `role:*`: agents with the role, with any role. `agent:<id or name>`, or an agent id ' +
      'or name alone. Other kinds (`user:x`), and names that no agent can have, match nothing and are named in `warnings`.',
    example: ['role:billing'],
  })
  readonly subjects!: readonly string[];

  @PatternList({
    minItems: 1,
    maxLength: 500,
    rule: actionFault,
    description: 'Names of actions, exactly, or `*`.',
    example: ['send-invoice'],
  })
  readonly actions!: readonly string[];

  @PatternList({
    minItems: 1,
    maxLength: 500,
    rule: resourcePatternFault,
    description:
      '`*`: all. A name equals the resourceId. A path is compared with `resourceId` and `<resourceType>/<resourceId>`; ' +
      'with a trailing `/*` it matches everything below it. One leading `/` is ignored. Percent-encoding as in `resourceId`.',
    example: ['invoices/*'],
  })
  readonly resources!: readonly string[];

  @PatternList({
    minItems: 0,
    maxLength: 100,
    rule: listedTypeFault,
    description:
      'The resource types it is about, exactly; none: any. For an allow, `<resourceType>/<resourceId>` counts where the resourceId has no `/`, or the type is listed here.',
    example: ['document'],
  })
  readonly resourceTypes?: readonly string[];

  @IntegerField({
    min: -(2 ** 31),
    max: 2 ** 31 - 1,
    optional: true,
    default: 0,
    description: 'Of the matching policies only those of the highest number count.',
    example: 10,
  })
  readonly priority?: number;
}
