/** Bytes of a message beyond which it takes a place of its own. */
const LARGE_BYTES = 256 * 1024;
const NO_ROOM = 'there was no room for its answer';
/** Two ends of lines, between which nothing stands. A carriage return and a line feed are one. */
const EMPTY_LINES = ['\n\n', '\r\r', '\n\r'];

/** The place of one large message. */
export interface AnswerPlace {
  release(): void;
}

/** Resolves once there is room for a large message; with null if there is none in time. */
export type PlaceForAnswer = () => Promise<AnswerPlace | null>;

interface PlaceOptions {
  /** True if a message ends with an empty line; otherwise the body is one message. */
  readonly isStream: boolean;
  readonly placeFor: PlaceForAnswer;
  readonly onFault: (message: string) => void;
}

/**
 * The body of a server's answer, of which each large message waits for a place: many at once would take the memory, and
 * the time, of all others.
 * @throws Error without a place in time
 */
export async function* inPlaces(
  body: AsyncIterable<Uint8Array>,
  { isStream, placeFor, onFault }: PlaceOptions,
): AsyncGenerator<Uint8Array> {
  let place: AnswerPlace | null = null;
  let bytes = 0;
  /** The last byte that came: two chunks may divide an empty line. */
  let last: Buffer = Buffer.alloc(0);
  try {
    for await (const chunk of body) {
      const seen = isStream ? Buffer.concat([last, chunk]) : last;
      const end = endOfEvent(seen);
      bytes = end < 0 ? bytes + chunk.length : seen.length - end;
      last = Buffer.from(seen.subarray(-1));
      if (bytes > LARGE_BYTES && place === null) {
        place = await placeFor();
        if (place === null) {
          onFault(NO_ROOM);
          throw new Error(NO_ROOM);
        }
      }
      yield chunk;
      if (end >= 0 && bytes <= LARGE_BYTES) {
        place?.release();
        place = null;
      }
    }
  } finally {
    place?.release();
  }
}

/** The place after the last empty line; -1 without one. */
function endOfEvent(bytes: Buffer): number {
  const at = Math.max(...EMPTY_LINES.map((ends) => bytes.lastIndexOf(ends)));
  return at < 0 ? -1 : at + 2;
}
