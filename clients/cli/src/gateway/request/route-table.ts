import { match, type MatchFunction, type Token, TokenData } from 'path-to-regexp';
import type { Route } from '../file/gateway-config.js';
import { foldName } from './fold-name.js';
import { parseRoutePattern, type PatternSegment } from './route-pattern.js';
import { decodePercent } from '../../service-rules/percent-encoding.js';

type PathValues = Readonly<Record<string, string>>;

/** A route that a request matches. */
export interface FoundRoute {
  readonly route: Route;
  /** Maps the names of the route's path to the values that were sent. */
  readonly pathValues: PathValues;
}

interface CompiledRoute {
  readonly route: Route;
  readonly matches: MatchFunction<Record<string, string>>;
  /** Match a folded path: as the route has it, and without each of the endings of its last segment. */
  readonly similar: readonly LoosePattern[];
}

interface LoosePattern {
  readonly matches: MatchFunction<Record<string, string>>;
  /** The last segment, which an upstream may find before any dot of a path; undefined if it is not literal. */
  readonly lastSegment: string | undefined;
}

/** The routes of an upstream, in their order. */
export class RouteTable {
  private readonly routes: readonly CompiledRoute[];

  constructor(routes: readonly Route[]) {
    this.routes = routes.map(compileRoute);
  }

  /**
   * The first route that a request matches.
   * @returns undefined if none does; `ambiguousWith` if an upstream that reads paths loosely could take the request for
   *   one of an earlier route
   */
  find(method: string, path: string): FoundRoute | { readonly ambiguousWith: Route } | undefined {
    const ofMethod = this.routes.filter(({ route }) => route.methods.includes(method));
    const index = ofMethod.findIndex(({ matches }) => matches(path) !== false);
    const found = ofMethod[index];
    if (found === undefined) return undefined;
    const folded = foldPath(path);
    const similar = ofMethod
      .slice(0, index)
      .find((earlier) => earlier.similar.some((pattern) => matchesLoosely(pattern, folded)));
    if (similar !== undefined) return { ambiguousWith: similar.route };
    const result = found.matches(path);
    return { route: found.route, pathValues: result === false ? {} : result.params };
  }
}

/**
 * True if an upstream could read a folded path as the pattern, with what follows any dot of its last segment or without
 * it. Only one dot can end what the pattern has, so that long paths take no more than one comparison for each pattern.
 */
function matchesLoosely({ matches, lastSegment }: LoosePattern, folded: string): boolean {
  const start = folded.lastIndexOf('/') + 1;
  const hasEnding = lastSegment !== undefined && lastSegment !== '' && folded.startsWith(`${lastSegment}.`, start);
  return matches(hasEnding ? folded.slice(0, start) + lastSegment : folded) !== false;
}

/** Returns the text of a segment before each of its dots, except before the first character. */
function endings(segment: string): string[] {
  const dots = [...segment.matchAll(/\./g)].map(({ index }) => index);
  return dots.filter((index) => index > 0).map((index) => segment.slice(0, index));
}

/** Folds a path, without the dots at the end of a segment, which some programs drop. */
function foldPath(path: string): string {
  const folded = foldName(decodePercent(path)).replaceAll(/(?<=[^./])\.+(?=\/|$)/g, '');
  return folded.length > 1 ? folded.replace(/\/$/, '') : folded;
}

function compileRoute(route: Route): CompiledRoute {
  const pattern = parseRoutePattern(route.match);
  // The file was checked before.
  if (typeof pattern === 'string') throw new TypeError(`The route ${route.match} ${pattern}.`);
  const { segments } = pattern;
  const folded = segments.map((segment) =>
    segment.kind === 'literal' ? { ...segment, text: foldPath(segment.text) } : segment,
  );
  const last = folded.at(-1);
  const stems = last?.kind === 'literal' ? endings(last.text) : [];
  const variants = stems.map((text) => [...folded.slice(0, -1), { kind: 'literal' as const, text }]);
  return {
    route,
    matches: compileSegments(segments),
    similar: [folded, ...variants].map(compileLoosely),
  };
}

function compileLoosely(segments: readonly PatternSegment[]): LoosePattern {
  const last = segments.at(-1);
  return { matches: compileSegments(segments), lastSegment: last?.kind === 'literal' ? lastOf(last.text) : undefined };
}

/** Returns the last segment of a folded literal, which may have become several. */
function lastOf(text: string): string {
  return text.slice(text.lastIndexOf('/') + 1);
}

function compileSegments(segments: readonly PatternSegment[]): MatchFunction<Record<string, string>> {
  const tokens = segments.flatMap((segment): Token[] => {
    if (segment.kind === 'literal') return [{ type: 'text', value: `/${segment.text}` }];
    const type = segment.kind === 'name' ? 'param' : 'wildcard';
    return [
      { type: 'text', value: '/' },
      { type, name: segment.name },
    ];
  });
  const data = new TokenData(tokens.length === 0 ? [{ type: 'text', value: '/' }] : tokens);
  return match(data, { decode: false, sensitive: true, trailing: false });
}
