import { errorOf } from '../../../clients/typescript/src/governance-error.js';
import type { TransportOptions } from './types.js';

/**
 * Requests something that is not JSON, and so not covered by the typed client. @throws GovernanceError if it is
 * refused.
 */
export async function requestPlain(
  { url, key, fetch: send = fetch }: TransportOptions,
  path: string,
  signal?: AbortSignal,
): Promise<Response> {
  const headers = { Authorization: `Bearer ${typeof key === 'string' ? key : await key()}` };
  const response = await send(`${url}${path}`, { headers, ...(signal === undefined ? {} : { signal }) });
  if (!response.ok) throw errorOf(response.status, await response.text());
  return response;
}
