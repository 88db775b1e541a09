import { hashOf } from '../canonical-json.mjs';

/**
 * Computes the hash of an execution's request from its members; the hash that the execution states is ignored.
 * @param {import('./read-file.mjs').Json} execution
 */
export function hashOfRequest({ agentId, action, resourceType, resourceId, parameters, onBehalfOf }) {
  const principal = (onBehalfOf ?? null) === null ? {} : { onBehalfOf };
  return hashOf({ agentId, action, resourceType, resourceId, parameters, ...principal });
}
