/**
 * Most texts that are remembered, somewhat more than the values of a request: each condition on a list reads all its items. Texts
 * that are read have at most 2,048 characters.
 */
const MAX_TEXTS = 10_000;

/** The same function of a text, which remembers what it returned: many conditions read the same texts of a request. */
export function rememberReadings<Reading>(read: (text: string) => Reading): (text: string) => Reading {
  const readings = new Map<string, Reading>();
  return (text) => {
    const remembered = readings.get(text);
    if (remembered !== undefined) return remembered;
    const reading = read(text);
    if (readings.size >= MAX_TEXTS) readings.clear();
    readings.set(text, reading);
    return reading;
  };
}
