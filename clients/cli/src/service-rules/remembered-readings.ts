/** Most remembered texts of a function, somewhat more than the values of a request. */
const MAX_TEXTS = 10_000;
/** Most characters of all remembered texts of a function: about those of a request. */
const MAX_CHARACTERS = 1_048_576;

/** Returns the same function of a text with a memory, because many conditions read the same texts of a request. */
export function rememberReadings<Reading>(read: (text: string) => Reading): (text: string) => Reading {
  const readings = new Map<string, Reading>();
  let characters = 0;
  return (text) => {
    const remembered = readings.get(text);
    if (remembered !== undefined) return remembered;
    const reading = read(text);
    if (readings.size >= MAX_TEXTS || characters >= MAX_CHARACTERS) {
      readings.clear();
      characters = 0;
    }
    readings.set(text, reading);
    characters += text.length;
    return reading;
  };
}

/**
 * Returns the same function of a text with a memory of the last one, because all conditions read the resource of one
 * request.
 */
export function rememberLast<Reading>(read: (text: string) => Reading): (text: string) => Reading {
  let last: { readonly text: string; readonly reading: Reading } | null = null;
  return (text) => {
    if (last?.text !== text) last = { text, reading: read(text) };
    return last.reading;
  };
}
