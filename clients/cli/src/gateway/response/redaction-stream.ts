import { setImmediate as nextTurn } from 'node:timers/promises';
import type { CurrentRedactor } from './redactor.js';

/** Bytes of a part after which others are served: a text of beginnings of credentials takes long. */
const LARGE_PART = 16 * 1024;

/**
 * The parts of a body with its credentials replaced. Holds back only what may be the beginning of one.
 * @param redactor asked for at each part, as secrets may change before the body ends
 */
export async function* redactStream(
  body: AsyncIterable<Uint8Array>,
  redactor: CurrentRedactor,
): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of body) {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    const part = redactor().redact(rest.length === 0 ? bytes : Buffer.concat([rest, bytes]), false);
    // A copy, so that a few bytes do not keep the whole part in memory.
    rest = Buffer.from(part.rest);
    yield* part.output;
    if (bytes.length >= LARGE_PART) await nextTurn();
  }
  yield* redactor().redact(rest, true).output;
}
