import { AtLeastOneOf } from '../../http/validation/body-fields';
import { DistinctStrings, OptionalText } from '../../http/validation/text-fields';
import { CAPABILITIES, DESCRIPTION, ROLES } from './agent-fields';

/** Absent members stay unchanged; a list is replaced as a whole. */
@AtLeastOneOf('description', 'capabilities', 'roles')
export class UpdateAgentRequest {
  @OptionalText(DESCRIPTION)
  readonly description?: string;

  @DistinctStrings(CAPABILITIES)
  readonly capabilities?: readonly string[];

  @DistinctStrings(ROLES)
  readonly roles?: readonly string[];
}
