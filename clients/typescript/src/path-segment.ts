/**
 * A parameter of a path, encoded. @throws TypeError before anything is sent: an empty segment, or one of dots, would turn the URL
 * into that of another resource, so that deleting the claim `..` would delete its entity.
 */
export function pathSegment(name: string, value: unknown): string {
  const text = typeof value === 'number' ? String(value) : value;
  if (typeof text === 'string' && !['', '.', '..'].includes(text)) return encodeURIComponent(text);
  throw new TypeError(`path.${name} is an id or a name, not empty and not . or ..; it was ${JSON.stringify(value)}.`);
}
