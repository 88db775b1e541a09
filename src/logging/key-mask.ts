/** Shorter keys would occur in ordinary words and make the lines unreadable; the start warns of them. */
const SHORTEST_MASKED_KEY = 8;

/** Takes keys and passwords out of a finished log line, whatever message or member brought them there. */
export function maskKeys(keys: readonly string[]): (line: string) => string {
  const needles = keys
    .filter((key) => key.length >= SHORTEST_MASKED_KEY)
    .map((key) => JSON.stringify(key).slice(1, -1));
  return (line) => needles.reduce((masked, needle) => masked.replaceAll(needle, '[key]'), line);
}
