/**
 * Encodes a parameter of a path.
 * @throws TypeError for an empty parameter, or one of dots: it would turn the URL into that of another resource, so
 *   that deleting the claim `..` would delete its entity
 */
export function pathSegment(name: string, value: unknown): string {
  const text = typeof value === 'number' ? String(value) : value;
  if (typeof text === 'string' && !['', '.', '..'].includes(text)) return encodeURIComponent(text);
  throw new TypeError(`path.${name} is an id or a name, not empty and not . or ..; it was ${JSON.stringify(value)}.`);
}
