/** Version, trace id, parent id and flags; what later versions have added follows a further dash. */
const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$/;
const ALL_ZERO = /^0+$/;

/**
 * The trace id of a W3C `traceparent` header; null if there is none, or it is malformed. Where both a client and its HTTP library send
 * the header, Node joins the two: they name one trace.
 */
export function traceIdIn(header: string | string[] | undefined): string | null {
  if (typeof header !== 'string') return null;
  const [first = null, ...others] = new Set(header.split(', ').map(traceIdOf));
  return others.length === 0 ? first : null;
}

function traceIdOf(traceparent: string): string | null {
  const [, version, traceId = '0', parentId = '0', more] = TRACEPARENT.exec(traceparent) ?? [];
  const isKnown = version === '00' ? more === undefined : version !== 'ff';
  return isKnown && !ALL_ZERO.test(traceId) && !ALL_ZERO.test(parentId) ? traceId : null;
}
