import { percentDecoded, percentEncodingFault } from './percent-encoding';
import { isUrl, urlFault, urlPathStart } from './resource-url';

/** Most segments of a path: each takes memory in the index. */
const MOST_SEGMENTS = 64;
const CONTROL_OR_FORMAT_CHARACTER = /[\p{Cc}\p{Cf}]/u;
/** URL parsers read `http:a` and `http:/a` as `http://a`. */
const URL_SCHEME = /^(?:https?|wss?|ftp|file):/i;
/** Ends the path of a URL; some servers cut a segment off there. */
const END_OF_PATH = /[?#;]/;

/** Segments of letters, digits, `_`, `-` and `.` that do not begin with a `.`: such a path can only be read one way. */
const ORDINARY = new RegExp(`^/?[\\w-][\\w.-]*(?:/[\\w-][\\w.-]*){0,${MOST_SEGMENTS - 1}}$`);

/** One leading `/` of a resource path means nothing. */
export function withoutLeadingSlash(path: string): string {
  return path.startsWith('/') ? path.slice(1) : path;
}

/** The path as allow policies compare it: as spelled, in normal form C. */
export function spelledPath(path: string): string {
  const plain = withoutLeadingSlash(path);
  return isAscii(plain) ? plain : plain.normalize('NFC');
}

/** By its length in UTF-8: a regular expression would take ten times as long. */
function isAscii(text: string): boolean {
  return Buffer.byteLength(text) === text.length;
}

/** The path as policies that forbid compare it: by its meaning, however it is percent-encoded. */
export function decodedPath(path: string): string {
  const spelled = spelledPath(path);
  return spelled.includes('%') ? percentDecoded(spelled).normalize('NFC') : spelled;
}

/**
 * What a resource path has to be, or undefined if it is valid. A path that a downstream reader could resolve to another
 * one (`a/../b`, `a\b`, `a;x/b`, `%61/b`) could evade the pattern of a policy, so it is refused.
 */
export function resourcePathFault(path: string): string | undefined {
  if (ORDINARY.test(path)) return undefined;
  const spelled = path.normalize('NFC');
  const meant = decodedPath(spelled);
  const fault = percentEncodingFault(spelled) ?? characterFault(meant);
  if (fault !== undefined) return fault;
  if (isUrl(spelled)) return urlFault(spelled) ?? segmentsFault(meant.slice(urlPathStart(meant) + 1), true);
  const hasSlash = meant.includes('/');
  if (hasSlash && URL_SCHEME.test(meant)) return 'must have "://" after the scheme of a URL, and no "/" before it';
  return segmentsFault(meant, hasSlash);
}

/** A resource type is the first segment of a path, so it is a path of one segment. */
export function resourceTypeFault(resourceType: string): string | undefined {
  return resourceType.includes('/') ? 'must not contain "/"' : resourcePathFault(resourceType);
}

function characterFault(path: string): string | undefined {
  if (CONTROL_OR_FORMAT_CHARACTER.test(path))
    return 'must not contain control or format characters, also not percent-encoded';
  return path.includes('\\') ? 'must not contain "\\"' : undefined;
}

function segmentsFault(path: string, hasSlash: boolean): string | undefined {
  if (hasSlash && END_OF_PATH.test(path))
    return 'must not contain "?", "#" or ";" in a path with "/", also not percent-encoded';
  const segments = path.split('/');
  const counted = segments.at(-1) === '*' ? segments.length - 1 : segments.length;
  if (counted > MOST_SEGMENTS) return `must have at most ${MOST_SEGMENTS} segments`;
  for (const segment of segments) {
    const fault = segmentFault(segment);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function segmentFault(segment: string): string | undefined {
  if (segment === '') return 'must not have empty segments (as in "a//b" or a trailing "/")';
  if (segment === '.' || segment === '..') return 'must not have "." or ".." segments';
  if (segment.trim() !== segment)
    return 'must not have white space at the ends of a segment, also not percent-encoded (as "%20")';
  const folded = segment.normalize('NFKC');
  if (folded === '.' || folded === '..' || /[/\\]/.test(folded))
    return 'must not have a segment that can be read as ".", ".." or with a slash (as "\uff0e\uff0e" or "a\uff0fb")';
  return undefined;
}
