import { createWriteStream, openSync, renameSync, rmSync } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { pathSegment } from '../../typescript/src/path-segment.js';
import { Transport } from '../../typescript/src/transport.js';
import { GovernanceError } from '../../typescript/src/index.js';
import { findingFetch } from './finding-fetch.js';
import type { Settings } from './settings.js';

/**
 * Writes the chain, from the entry after `after` on, as lines of JSON.
 * @throws GovernanceError if it is refused, or the connection breaks before the end: what was written is then
 *   incomplete.
 */
export function writeChain(settings: Settings, to: NodeJS.WritableStream, after?: number): Promise<void> {
  const query = after === undefined ? '' : `?after=${encodeURIComponent(after)}`;
  return write(settings, `/api/v1/provenance/export${query}`, to, 'the end of the chain: the export is not complete');
}

/** Writes the decision file of an execution or of a change, byte for byte. @throws as `writeChain`. */
export function writeEvidence(settings: Settings, to: NodeJS.WritableStream, id: string): Promise<void> {
  const path = `/api/v1/${id.startsWith('dec_') ? 'decisions' : 'executions'}/${pathSegment('id', id)}/evidence`;
  return write(settings, path, to, 'the end of the file: it is not complete');
}

/** Writes a file, which appears once it is complete. */
export async function writeNewFile(file: string, write: (to: NodeJS.WritableStream) => Promise<void>): Promise<void> {
  const part = `${file}.part`;
  const to = createWriteStream(part, { fd: openSync(part, 'w', 0o600) });
  try {
    await write(to);
    renameSync(part, file);
  } catch (error) {
    to.destroy();
    rmSync(part, { force: true });
    throw error;
  }
}

/**
 * Writes the body of a response to a stream.
 * @param end end of the message if the connection breaks before the end of the body
 */
async function write(settings: Settings, path: string, to: NodeJS.WritableStream, end: string): Promise<void> {
  // The body is read outside of `send`, which would send the request again if the connection breaks.
  const transport = new Transport({ ...settings, fetch: findingFetch(settings.url) });
  const { body } = await transport.send({ method: 'get', path }, (response) => Promise.resolve(response));
  try {
    await pipeline(Readable.from(body ?? []), to, { end: to !== process.stdout });
  } catch (cause) {
    // A broken connection makes `fetch` throw a TypeError; any other error comes from the target.
    if (!(cause instanceof TypeError)) throw cause;
    throw new GovernanceError(`The connection broke before ${end}.`, { code: 'UNREACHABLE', status: null, cause });
  }
}
