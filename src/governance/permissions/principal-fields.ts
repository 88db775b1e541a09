import { Field, OptionalText } from '../../http/validation/fields';
import { member, objectShape, textShape, textsShape } from '../../http/validation/shapes';
import { exactLabelFault } from '../../core/values/label-fault';
import { LONGEST_PRINCIPAL, principalSubjectFault } from '../policies/patterns/principals';
import { personNamedBy } from './principals';

const OPTIONAL = { optional: true };
const MOST_ROLES = 50;

/** On whose behalf an agent acts. */
export const ON_BEHALF_OF = objectShape(
  {
    subject: member(textShape({ max: LONGEST_PRINCIPAL, rule: principalSubjectFault }), {
      description: '`<type>:<id>`, or `agent:<id or name>` of a registered person.',
      example: 'user:4711',
    }),
    roles: member(textsShape({ maxItems: MOST_ROLES, item: { max: 100, rule: exactLabelFault } }), {
      ...OPTIONAL,
      description: 'Its roles, as the caller knows them. A registered person has its own.',
      example: ['finance'],
    }),
  },
  ({ subject, roles }) => {
    const isPerson = typeof subject === 'string' && personNamedBy({ subject }) !== undefined;
    if (!isPerson || roles === undefined || roles === null) return [];
    return [{ at: '.roles', message: 'must be left out: a registered person has its own roles' }];
  },
);

/** The name of a conversation or task. */
export const RUN = { max: 200, rule: runFault };

const RUN_DESCRIPTION = 'The conversation or task that this is part of, as the program of the agent names it.';

export function OnBehalfOfField(without: string): PropertyDecorator {
  const description = `For whom the agent acts. ${without}`;
  return Field('onBehalfOf', { optional: true, description }, ON_BEHALF_OF.rule, ON_BEHALF_OF.schema);
}

export function RunField(): PropertyDecorator {
  return OptionalText({ ...RUN, description: RUN_DESCRIPTION, example: 'conversation-4711' });
}

function runFault(run: string): string | undefined {
  return /[\p{Cc}\p{Cf}]/u.test(run) ? 'must not contain control or format characters' : undefined;
}
