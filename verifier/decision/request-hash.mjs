import { hashOf } from '../canonical-json.mjs';

/**
 * The hash of what an execution says that it requested, whatever it says that its hash is.
 * @param {import('./read-file.mjs').Json} execution
 */
export function hashOfRequest({ agentId, action, resourceType, resourceId, parameters, onBehalfOf }) {
  const principal = (onBehalfOf ?? null) === null ? {} : { onBehalfOf };
  return hashOf({ agentId, action, resourceType, resourceId, parameters, ...principal });
}
