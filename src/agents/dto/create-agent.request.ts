import { DistinctStrings, OptionalText, RequiredText } from '../../http/validation/text-fields';
import { agentNameFault, normaliseAgentName } from '../agent-name';
import { CAPABILITIES, DESCRIPTION, ROLES } from './agent-fields';

export class CreateAgentRequest {
  @RequiredText({
    max: 200,
    description:
      'Unique; also usable as the lookup key. Kept in Unicode normal form C. Without control characters, `/`, `*` and ' +
      'white space at its ends; not beginning with `agt_`, `agent:` or `role:`.',
    example: 'invoice-bot',
    normalise: normaliseAgentName,
    rule: agentNameFault,
  })
  readonly name!: string;

  @OptionalText({ ...DESCRIPTION, default: '' })
  readonly description?: string;

  @DistinctStrings({ ...CAPABILITIES, default: [] })
  readonly capabilities?: readonly string[];

  @DistinctStrings({ ...ROLES, default: [] })
  readonly roles?: readonly string[];
}
