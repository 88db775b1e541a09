import { DistinctStrings, OneOf, OptionalText, RequiredText } from '../../http/validation/text-fields';
import { agentNameFault, normaliseAgentName } from '../agent-name';
import { AGENT_KINDS } from '../agent-kind';
import type { AgentKind } from '../agent-kind';
import { CAPABILITIES, DESCRIPTION, ROLES } from './agent-fields';

export class CreateAgentRequest {
  @RequiredText({
    max: 200,
    description:
      'Unique; also usable as the lookup key. Kept in Unicode normal form C. Without control characters, `/`, `*` and ' +
      'white space at its ends; not beginning with `agt_`, `agent:`, `role:` or `kind:`.',
    example: 'reminder-bot',
    normalise: normaliseAgentName,
    rule: agentNameFault,
  })
  readonly name!: string;

  @OneOf(AGENT_KINDS, {
    optional: true,
    default: 'machine',
    description: 'A person who reviews is an agent of kind `human`. It never changes.',
    example: 'machine',
  })
  readonly kind?: AgentKind;

  @OptionalText({ ...DESCRIPTION, default: '' })
  readonly description?: string;

  @DistinctStrings({ ...CAPABILITIES, default: [] })
  readonly capabilities?: readonly string[];

  @DistinctStrings({ ...ROLES, default: [] })
  readonly roles?: readonly string[];
}
