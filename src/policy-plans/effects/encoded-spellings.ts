import { isUrl, urlPathStart } from '../../policies/patterns/resource-url';

/** What has one spelling: anything else may be percent-encoded. */
const PLAIN = /^[0-9A-Za-z\-._~/]*$/;
const ENCODABLE = /[^0-9A-Za-z\-._~]/gu;

/**
 * How plans name the percent-encoded spellings of a path, of which there are endlessly many: by that in which each character
 * is encoded once, from a segment on. `a b/c d` has `a%20b/c%20d`, for what is encoded from its first segment on, and
 * `a b/c%20d`, for what is plain up to its second.
 */
export function encodedSpellings(path: string): string[] {
  if (PLAIN.test(path)) return [];
  const { start, segments } = divided(path);
  const encoded = segments.map(encodedSegment);
  return segments.flatMap((segment, index) =>
    segment === encoded[index] ? [] : [start + [...segments.slice(0, index), ...encoded.slice(index)].join('/')],
  );
}

/** A URL as what comes before its path, in which nothing is encoded, and the segments of that. */
function divided(path: string): { start: string; segments: string[] } {
  const slash = isUrl(path) ? urlPathStart(path) : -1;
  if (isUrl(path) && slash < 0) return { start: path, segments: [] };
  return { start: path.slice(0, slash + 1), segments: path.slice(slash + 1).split('/') };
}

function encodedSegment(segment: string): string {
  return segment.replace(ENCODABLE, (character) =>
    Buffer.from(character, 'utf8').toString('hex').toUpperCase().replace(/../g, '%$&'),
  );
}
