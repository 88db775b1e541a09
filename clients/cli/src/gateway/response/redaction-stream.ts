import { turnOf } from '../request/turns.js';
import type { CurrentRedactor } from './redactor.js';

/**
 * Bytes that are searched in a turn of their agent: a text of beginnings of credentials takes long, and one agent may
 * read many at a time.
 */
const LARGE_PART = 4 * 1024;

/**
 * The parts of a body with its credentials replaced. Holds back only what may be the beginning of one.
 * @param redactor asked for at each part, as secrets may change before the body ends
 */
export async function* redactStream(
  body: AsyncIterable<Uint8Array>,
  redactor: CurrentRedactor,
  agentId: string,
): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of body) {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    await searchTurn(bytes, agentId);
    const part = redactor().redact(rest.length === 0 ? bytes : Buffer.concat([rest, bytes]), false);
    // A copy, so that a few bytes do not keep the whole part in memory.
    rest = Buffer.from(part.rest);
    yield* part.output;
  }
  yield* redactor().redact(rest, true).output;
}

/** Resolves when bytes may be searched for credentials. */
export async function searchTurn({ length }: Buffer, agentId: string): Promise<void> {
  if (length >= LARGE_PART) await turnOf(agentId);
}
