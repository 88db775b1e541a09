import { resourcePathFault } from '../../service-rules/resources.js';

export type PatternSegment =
  | { readonly kind: 'literal'; readonly text: string }
  /** One segment of the request. */
  | { readonly kind: 'name'; readonly name: string }
  /** All further segments of the request, at least one. */
  | { readonly kind: 'rest'; readonly name: string };

export interface RoutePattern {
  readonly methods: readonly string[];
  readonly path: string;
  readonly segments: readonly PatternSegment[];
}

export const METHODS: readonly string[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

const MATCH = /^([^ ]+) (\/[^ ]*)$/;
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
const VISIBLE = /^[\x21-\x7e]*$/;

/** Reads the `match` of a route. @returns what it has to be, as the end of a sentence, if it is not valid */
export function parseRoutePattern(match: string): RoutePattern | string {
  const [, list = '', path = ''] = MATCH.exec(match) ?? [];
  if (path === '') return 'must be methods and a path, for example "POST /v1/refunds"';
  const methods = list.split(',');
  const unknown = methods.find((method) => !METHODS.includes(method));
  if (unknown !== undefined)
    return `has the method ${JSON.stringify(unknown)}: expected ${METHODS.join(', ')}, separated by commas`;
  if (new Set(methods).size < methods.length) return 'must name each method once';
  const segments = parseSegments(path);
  return typeof segments === 'string' ? segments : { methods, path, segments };
}

/** The names under which templates find a part of the path. */
export function namesIn({ segments }: RoutePattern): string[] {
  return segments.flatMap((segment) => (segment.kind === 'literal' ? [] : [segment.name]));
}

function parseSegments(path: string): PatternSegment[] | string {
  if (path === '/') return [];
  if (!VISIBLE.test(path)) return 'must have visible ASCII characters in its path: percent-encode others';
  const texts = path.slice(1).split('/');
  const segments = texts.map(parseSegment);
  const fault = segments.find((segment) => typeof segment === 'string');
  if (fault !== undefined) return fault;
  const parsed = segments.filter((segment) => typeof segment !== 'string');
  if (parsed.slice(0, -1).some(({ kind }) => kind === 'rest')) return 'may have "*name" only as its last segment';
  const names = parsed.flatMap((segment) => (segment.kind === 'literal' ? [] : [segment.name]));
  if (new Set(names).size < names.length) return 'must have each name once in its path';
  const example = parsed.map((segment) => (segment.kind === 'literal' ? segment.text : 'name')).join('/');
  const pathFault = resourcePathFault(`/${example}`) ?? (/[;]/.test(example) ? 'must not contain ";"' : undefined);
  return pathFault === undefined ? parsed : `has a path that no request can have: it ${pathFault}`;
}

function parseSegment(text: string): PatternSegment | string {
  const [sign, name] = [text.slice(0, 1), text.slice(1)];
  if (sign === ':' || sign === '*') {
    if (!NAME.test(name)) return `must have a name of letters, digits and "_" after "${sign}", as the whole segment`;
    return { kind: sign === ':' ? 'name' : 'rest', name };
  }
  if (/[*{}?#]/.test(text))
    return `has the segment ${JSON.stringify(text)}: expected a literal one, ":name", or "*name" at the end`;
  return { kind: 'literal', text };
}
