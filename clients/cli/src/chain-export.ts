import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Transport } from '../../typescript/src/transport.js';
import { GovernanceError } from '../../typescript/src/index.js';
import type { Settings } from './settings.js';

/**
 * Writes the chain, from the entry after `after` on, as lines of JSON.
 * @throws GovernanceError if it is refused, or the connection breaks before the end: what was written is then incomplete.
 */
export async function writeChain(settings: Settings, to: NodeJS.WritableStream, after?: number): Promise<void> {
  const query = after === undefined ? '' : `?after=${encodeURIComponent(after)}`;
  const request = { method: 'get', path: `/api/v1/provenance/export${query}` } as const;
  // Its body is read outside of `send`, which would start again if the connection breaks.
  const { body } = await new Transport(settings).send(request, (response) => Promise.resolve(response));
  try {
    await pipeline(Readable.from(body ?? []), to, { end: to !== process.stdout });
  } catch (cause) {
    // The error of a `fetch` body whose connection broke; any other comes from the target.
    if (!(cause instanceof TypeError)) throw cause;
    const facts = { code: 'UNREACHABLE', status: null, cause };
    throw new GovernanceError('The connection broke before the end of the chain: the export is not complete.', facts);
  }
}
