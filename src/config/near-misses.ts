import type { Environment } from './variables/variable';

/** From this length on, a name that differs by one letter is probably a slip. */
const LONG = 8;
/** Shorter names, such as `Host`, may belong to other programs. */
const SHORTEST = 5;

/** A warning for each variable that is set and not read, and whose name is nearly that of one that is read. */
export function nearMissWarnings(environment: Environment, names: readonly string[]): string[] {
  const read = new Set(names);
  return Object.keys(environment)
    .filter((name) => !read.has(name) && (environment[name] ?? '') !== '')
    .flatMap((name) => {
      const meant = names.find((candidate) => isNearly(name, candidate));
      return meant === undefined ? [] : [`${name} is set, but nothing reads it. Did you mean ${meant}?`];
    });
}

function isNearly(name: string, meant: string): boolean {
  const [given, expected] = [plain(name), plain(meant)];
  if (expected.length < SHORTEST) return false;
  return given === expected || (expected.length >= LONG && isOneSlip(given, expected));
}

/** Without separators between words, in lower case. */
function plain(name: string): string {
  return name.replace(/[^a-z0-9]/gi, '').toUpperCase();
}

/** One character more, fewer or different, or two adjacent ones swapped. */
function isOneSlip(given: string, expected: string): boolean {
  if (Math.abs(given.length - expected.length) > 1) return false;
  let start = 0;
  while (start < given.length && given[start] === expected[start]) start += 1;
  const [left, right] = [given.slice(start), expected.slice(start)];
  return (
    left.slice(1) === right ||
    left === right.slice(1) ||
    left.slice(1) === right.slice(1) ||
    left === right.charAt(1) + right.charAt(0) + right.slice(2)
  );
}
