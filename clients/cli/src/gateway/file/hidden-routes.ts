import type { Route } from './gateway-config.js';
import { foldName } from '../request/fold-name.js';
import { parseRoutePattern, type PatternSegment } from '../request/route-pattern.js';
import { decodePercent } from '../../service-rules/percent-encoding.js';

/**
 * Returns the earlier routes that together match every request of the one at `index`; empty if it has requests of its
 * own.
 */
export function hidingRoutes(routes: readonly Route[], index: number): Route[] {
  const route = routes[index];
  if (route === undefined) return [];
  const segments = foldedSegments(route);
  const earlier = routes.slice(0, index).filter((other) => covers(foldedSegments(other), segments));
  const hiding = route.methods.map((method) => earlier.find(({ methods }) => methods.includes(method)));
  const present = hiding.filter((other) => other !== undefined);
  return present.length === hiding.length ? [...new Set(present)] : [];
}

/** True if each path of the second pattern is one of the first, or could be read as one. Both are folded. */
function covers(pattern: readonly PatternSegment[], other: readonly PatternSegment[]): boolean {
  for (const [index, segment] of pattern.entries()) {
    const counterpart = other[index];
    if (counterpart === undefined) return false;
    if (segment.kind === 'rest') return true;
    if (counterpart.kind === 'rest') return false;
    if (segment.kind === 'name') continue;
    if (counterpart.kind !== 'literal' || counterpart.text !== segment.text) return false;
  }
  return pattern.length === other.length;
}

function foldText(text: string): string {
  return foldName(decodePercent(text));
}

const folded = new WeakMap<Route, readonly PatternSegment[]>();

/** The segments of a route, whose literal ones are compared folded. */
function foldedSegments(route: Route): readonly PatternSegment[] {
  const existing = folded.get(route);
  if (existing !== undefined) return existing;
  const pattern = parseRoutePattern(route.match);
  const segments = (typeof pattern === 'string' ? [] : pattern.segments).map((segment) =>
    segment.kind === 'literal' ? { ...segment, text: foldText(segment.text) } : segment,
  );
  folded.set(route, segments);
  return segments;
}
