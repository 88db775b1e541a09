/** Names of fields that some programs take for the method of a request or for its headers, folded. */
const METHOD_NAMES: ReadonlySet<string> = new Set([
  '_method',
  '_httpmethod',
  '$method',
  '$httpmethod',
  '$httpheaders',
  'x-http-method',
  'x-http-method-override',
  'x-method-override',
]);

/**
 * Returns what a request must not have, as the end of a sentence; undefined if no program takes the name for the
 * method.
 */
export function methodNameFault(folded: string, name: string): string | undefined {
  return METHOD_NAMES.has(folded)
    ? `must not have a field ${name}, which some programs take for the method or for headers`
    : undefined;
}
