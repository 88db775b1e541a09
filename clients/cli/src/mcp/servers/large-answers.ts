/** Bytes of a message beyond which it takes a place of its own. */
const LARGE_BYTES = 256 * 1024;
const NO_ROOM = 'there was no room for its answer';
const [LINE_FEED, CARRIAGE_RETURN] = [10, 13];

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
  try {
    for await (const chunk of body) {
      const end = isStream ? endOfEvent(chunk) : -1;
      bytes = end < 0 ? bytes + chunk.length : chunk.length - end;
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

/** The place after the last empty line; -1 without one. Two chunks may divide it: then the message counts as longer. */
function endOfEvent(chunk: Uint8Array): number {
  for (let at = chunk.lastIndexOf(LINE_FEED); at > 0; at = chunk.lastIndexOf(LINE_FEED, at - 1)) {
    const before = chunk[at - 1] === CARRIAGE_RETURN ? at - 2 : at - 1;
    if (chunk[before] === LINE_FEED) return at + 1;
  }
  return -1;
}
