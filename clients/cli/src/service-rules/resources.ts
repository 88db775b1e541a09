import { notComposedFault } from './label-fault.js';
import { decodePercent, percentEncodingFault } from './percent-encoding.js';
import { rememberReadings } from './remembered-readings.js';
import { marksFault, normalFormC, normalFormKc } from './normal-form.js';

/** The meaning of one string of a policy's `resources`. */
export type ResourcePattern =
  | { readonly kind: 'everything' }
  | { readonly kind: 'exact'; readonly path: string }
  | { readonly kind: 'below'; readonly path: string };

const BELOW = '/*';

/**
 * Parses a pattern that {@link resourcePatternFault} has accepted. An allow policy means the path as spelled; one that
 * forbids means every path that is equivalent.
 */
export function parseResourcePattern(text: string, comparedAs: 'spelled' | 'meant'): ResourcePattern {
  const pattern = splitPattern(text);
  if (pattern.kind === 'everything') return pattern;
  return { kind: pattern.kind, path: comparedAs === 'spelled' ? spelledPath(pattern.path) : decodedPath(pattern.path) };
}

/** Returns the fault of a resource pattern; undefined if it is valid. */
export function resourcePatternFault(text: string): string | undefined {
  const pattern = splitPattern(text);
  if (pattern.kind === 'everything') return undefined;
  if (pattern.path.includes('*')) return 'may contain "*" only as "*" or as a trailing "/*"';
  return resourcePathFault(text);
}

/** Returns the fault of a policy's resource type; undefined if it is valid. Types are matched exactly. */
export function listedTypeFault(resourceType: string): string | undefined {
  return resourceType.includes('*')
    ? 'must not contain "*": leave the list out for any type'
    : resourceTypeFault(resourceType);
}

function splitPattern(text: string): ResourcePattern {
  const path = withoutLeadingSlash(text);
  if (path === '*') return { kind: 'everything' };
  if (path.endsWith(BELOW)) return { kind: 'below', path: path.slice(0, -BELOW.length) };
  return { kind: 'exact', path };
}

/** Most segments of a path: each takes memory in the index. */
const MAX_SEGMENTS = 64;
const CONTROL_OR_FORMAT_CHARACTER = /[\p{Cc}\p{Cf}]/u;
/** URL parsers read `http:a` and `http:/a` as `http://a`. */
const URL_SCHEME = /^(?:https?|wss?|ftp|file):/i;
/** Matches the end of a URL's path; some servers cut a segment off there. */
const END_OF_PATH = /[?#;]/;

/**
 * Matches segments of letters, digits, `_`, `-` and `.` that do not begin with a `.`: such a path can only be read one
 * way.
 */
const ORDINARY = new RegExp(`^/?[\\w-][\\w.-]*(?:/[\\w-][\\w.-]*){0,${MAX_SEGMENTS - 1}}$`);

/** Removes one leading `/` of a resource path, which means nothing. */
export function withoutLeadingSlash(path: string): string {
  return path.startsWith('/') ? path.slice(1) : path;
}

/** Returns the path as allow policies compare it: as spelled, in normal form C. */
export function spelledPath(path: string): string {
  return normalFormC(withoutLeadingSlash(path));
}

/** Returns the path as forbidding policies compare it: by its meaning, with any percent-encoding. */
export function decodedPath(path: string): string {
  const spelled = spelledPath(path);
  return spelled.includes('%') ? normalFormC(decodePercent(spelled)) : spelled;
}

/**
 * Returns the fault of a resource path; undefined if it is valid. A path that a downstream reader could resolve to
 * another one (`a/../b`, `a\b`, `a;x/b`, `%61/b`) could evade the pattern of a policy, so it is refused.
 */
export function resourcePathFault(path: string): string | undefined {
  if (ORDINARY.test(path)) return undefined;
  const spelled = normalFormC(path);
  const decoded = decodedPath(spelled);
  const fault = percentEncodingFault(spelled) ?? characterFault(decoded);
  if (fault !== undefined) return fault;
  if (isUrl(spelled)) return urlFault(spelled) ?? segmentsFault(decoded.slice(urlPathStart(decoded) + 1), true);
  const hasSlash = decoded.includes('/');
  if (hasSlash && URL_SCHEME.test(decoded)) return 'must have "://" after the scheme of a URL, and no "/" before it';
  return segmentsFault(decoded, hasSlash);
}

/**
 * Returns the fault of a resource type. It is the first segment of a path, so it is a path of one segment. It is
 * compared as it is written.
 */
export function resourceTypeFault(resourceType: string): string | undefined {
  return resourceType.includes('/')
    ? 'must not contain "/"'
    : (resourcePathFault(resourceType) ?? notComposedFault(resourceType));
}

function characterFault(path: string): string | undefined {
  if (CONTROL_OR_FORMAT_CHARACTER.test(path))
    return 'must not contain control or format characters, also not percent-encoded';
  return path.includes('\\') ? 'must not contain "\\"' : marksFault(path);
}

function segmentsFault(path: string, hasSlash: boolean): string | undefined {
  if (hasSlash && END_OF_PATH.test(path))
    return 'must not contain "?", "#" or ";" in a path with "/", also not percent-encoded';
  const segments = path.split('/');
  const counted = segments.at(-1) === '*' ? segments.length - 1 : segments.length;
  if (counted > MAX_SEGMENTS) return `must have at most ${MAX_SEGMENTS} segments`;
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
  const folded = normalFormKc(segment);
  if (folded === '.' || folded === '..' || /[/\\]/.test(folded))
    return 'must not have a segment that can be read as ".", ".." or with a slash (as "\uff0e\uff0e" or "a\uff0fb")';
  return undefined;
}

const URL_START = /^[a-z][a-z0-9+.-]*:\/\//i;
/**
 * Matches host names without empty labels, and addresses. Some parsers would take a `;` or a `*` for more than a part
 * of a name.
 */
const HOST = /^(?:[a-z0-9\-_~!$&'()+,=]+(?:\.[a-z0-9\-_~!$&'()+,=]+)*|\[[0-9a-f:.]+\])(?::[0-9]+)?$/;
const NOT_CANONICAL =
  'must be a URL in its canonical form: a lower-case scheme and host, no default port, and only what is read as it is written';

/**
 * True if a resource is a URL. A valid path is none, because it would have an empty segment. A scheme contains no `/`,
 * so the first `/` follows it.
 */
export function isUrl(resource: string): boolean {
  return resource.startsWith('://', resource.indexOf('/') - 1) && URL_START.test(resource);
}

/** Returns the index of the `/` at which the path of a URL begins; -1 if it has none. */
export function urlPathStart(url: string): number {
  return url.indexOf('/', url.indexOf('://') + '://'.length);
}

/**
 * Returns the fault of the part of a URL before its path, or of how the path could be read; undefined if there is none.
 */
function urlFault(url: string): string | undefined {
  const start = urlPathStart(url);
  if (start < 0 || start === url.length - 1) return 'must be a URL with a path, as in "https://example.com/a"';
  const [scheme = '', authority = ''] = url.slice(0, start).split('://');
  if (authority.includes('@')) return 'must be a URL without user name and password';
  if (authority === '' && scheme !== 'file') return 'must be a URL with a host';
  if (scheme !== scheme.toLowerCase() || (authority !== '' && !HOST.test(authority))) return NOT_CANONICAL;
  const parsed = URL.canParse(url) ? new URL(url) : null;
  const isReadAsWritten =
    parsed?.host === authority && decodePercent(parsed.pathname) === decodePercent(url.slice(start));
  return isReadAsWritten ? undefined : NOT_CANONICAL;
}

/** Most characters of a text that is examined as a path. */
export const MAX_PATH_CHARACTERS = 4_096;

/** Returns the fault of a path or URL below which others may lie; undefined if it is valid, as `https://host` is. */
export function withinFault(text: string): string | undefined {
  if (text.includes('*')) return 'must be a path or URL without "*"';
  if (text.length > MAX_PATH_CHARACTERS) return `must have at most ${MAX_PATH_CHARACTERS} characters`;
  const isHost = isUrl(text) && urlPathStart(text) < 0 && !text.endsWith('/');
  return resourcePathFault(isHost ? `${text}/path` : text);
}

/**
 * Returns a function that is true for a text that is the path or URL, or lies below it; a leading `/` counts. Unknown
 * if the text could be read as another path, or only lies there once it is decoded: that suffices for a policy that
 * forbids, but not for an allow.
 */
export function withinTest(path: string): (text: string) => boolean | 'unknown' {
  const spelledBase = normalFormC(path);
  const [isBelowSpelled, isBelowDecoded] = [belowTest(spelledBase), belowTest(decodePath(spelledBase))];
  return (text) => {
    const reading = text.length > MAX_PATH_CHARACTERS ? null : readPath(text);
    if (reading === null) return 'unknown';
    if (isBelowSpelled(reading.spelled)) return true;
    return isBelowDecoded(reading.decoded) ? 'unknown' : false;
  };
}

/** Reads a path as it is spelled and once it is decoded; null if it could be read as another path. */
const readPath = rememberReadings((text) => {
  if (resourcePathFault(text) !== undefined) return null;
  const spelled = normalFormC(text);
  return { spelled, decoded: decodePath(spelled) };
});

function decodePath(path: string): string {
  return normalFormC(decodePercent(path));
}

function belowTest(base: string): (path: string) => boolean {
  const start = `${base}/`;
  return (path) => path === base || path.startsWith(start);
}

/** True if one of the patterns means the resource, for an allow policy that lists its type. */
export function matchesAsAllow(
  patterns: readonly string[],
  { resourceType, resourceId }: { readonly resourceType: string; readonly resourceId: string },
): boolean {
  const path = spelledPath(resourceId);
  const paths = isUrl(path) ? [path] : [path, `${spelledPath(resourceType)}/${path}`];
  return patterns.some((text) => {
    const pattern = parseResourcePattern(text, 'spelled');
    if (pattern.kind === 'everything') return true;
    if (pattern.kind === 'exact') return paths.includes(pattern.path);
    return paths.some((each) => each.startsWith(`${pattern.path}/`));
  });
}
