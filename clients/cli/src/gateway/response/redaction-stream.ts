import type { Redactor } from './redactor.js';

/** The parts of a body with its credentials replaced. Holds back only what may be the beginning of one. */
export async function* redactStream(body: AsyncIterable<Uint8Array>, redactor: Redactor): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of body) {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    const part = redactor.redact(rest.length === 0 ? bytes : Buffer.concat([rest, bytes]), false);
    // A copy, so that a few bytes do not keep the whole part in memory.
    rest = Buffer.from(part.rest);
    yield* part.output;
  }
  yield* redactor.redact(rest, true).output;
}
