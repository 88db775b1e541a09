import { QueryText } from '../../../http/validation/query-fields';
import { normaliseAgentName } from '../agent-name';

/** A text that names an agent by its id or its name. */
export const NAMED_AGENT = { max: 200, normalise: normaliseAgentName };

/** A filter that names an agent by its id or its name. */
export function QueryAgent(description: string): PropertyDecorator {
  return QueryText({ max: 500, description, normalise: normaliseAgentName });
}
