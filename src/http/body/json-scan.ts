import { type JsonScan, JsonScanner, MOST_LEVELS } from './json-scanner';

/** An escape, a forbidden key, or a number long enough to lose digits or to overflow: only these need the full scan. */
const WORTH_SCANNING = /\\u|__proto__|\d{16}|[eE]\+?\d{3}/;
const OPENING = /[{[]/g;

const NOTHING_FOUND: JsonScan = { faults: [], isTooDeep: false };

/**
 * Finds what a parsed value no longer shows, in a text that is valid JSON: too many levels, `__proto__` keys, NUL and
 * lone surrogates, integers beyond 2^53−1 and numbers that overflow.
 */
export function scanJson(text: string): JsonScan {
  const isOrdinary = !WORTH_SCANNING.test(text) && countOpenings(text) <= MOST_LEVELS;
  return isOrdinary ? NOTHING_FOUND : new JsonScanner(text).scan();
}

/** As many levels as there can be at most. */
function countOpenings(text: string): number {
  return text.match(OPENING)?.length ?? 0;
}
