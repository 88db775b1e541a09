/** Matches the names, texts and brackets of a JSON text; a text before a colon is a name. */
const NAME_OR_MARK = /("[^"\\]*(?:\\.[^"\\]*)*")(\s*:)?|[{}[\],]/g;

/** An object or list whose end has not been read. */
interface OpenPlace {
  /** Names of an object; null for a list. */
  readonly names: Set<string> | null;
  /** The name or index of the value that is being read. */
  step: string | number;
}

/**
 * Returns the path to the first name that is given twice in one object of a valid JSON text; undefined if there is
 * none.
 */
export function repeatedName(json: string): readonly (string | number)[] | undefined {
  const open: OpenPlace[] = [];
  for (const [mark, text, colon] of json.matchAll(NAME_OR_MARK)) {
    const place = open.at(-1);
    if (mark === '{') open.push({ names: new Set(), step: '' });
    else if (mark === '[') open.push({ names: null, step: 0 });
    else if (mark === '}' || mark === ']') open.pop();
    else if (mark === ',' && typeof place?.step === 'number') place.step += 1;
    else if (text !== undefined && colon !== undefined && place?.names) {
      place.step = JSON.parse(text) as string;
      if (place.names.has(place.step)) return open.map(({ step }) => step);
      place.names.add(place.step);
    }
  }
  return undefined;
}
