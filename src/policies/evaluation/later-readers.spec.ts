import * as fc from 'fast-check';
import { posix, win32 } from 'node:path';
import type { PolicyRules } from './compiled-policy';
import { PolicyEvaluator } from './policy-evaluator';
import { resourcePathFault, resourceTypeFault } from './resource-path';
import { resourcePatternFault } from './resource-pattern';

/** What a caller sends for a resource. */
interface Pair {
  readonly type: string;
  readonly id: string;
}

/** Parts that come to mean something when they meet. */
const PARTS = [
  ...['a', 'a', 'b', 'vault', 'prod', 'caf\u00e9', 'cafe\u0301', 'e\u0301', 'A', '*', '+', ':', 'http:', 'c:', '50%', '...'],
  ...['/', '/', '/', '//', '\\', '.', '..', '../', './', '?', '#', ';', ';x=1', ' ', '\u00a0', '\t', '\n', '\ufeff', '\u200b'],
  ...['\uff0f', '\uff3c', '\uff0e', '\uff0e\uff0e', '\u2024', '\u2025', '\ufe68', '\u2100', '\u037e', '\u2000', '\u00ad', '\u212b'],
  ...['%2F', '%5C', '%255c', '%2E', '%3F', '%23', '%3B', '%253b', '%20', '%2520', '%C3%A9', '%CC%81', '%EF%BC%8F', '%C2%A0'],
  ...['%E2%80%8B', '%', '%25', '%3A', '%2A', '%0A', '%FF', '%61', '&', '"', '<', '`', '{', '|', '^', '~', '\u{1f600}'],
]; // prettier-ignore
/** What policies deny: alone, or with all that is below. */
const PLAIN = ['a', 'b', 'vault', 'prod', 'caf\u00e9', 'e\u0301', 'a b', 'a\u00e9', '50%', 'A', 'http:', 'c:', '+'];

/** A path as others read it: `/` before it means nothing, and keeps `c:` and `http:` from being more than a name. */
const READERS: Readonly<Record<string, (path: string) => string>> = {
  'new URL': (path) => new URL(`http://host/${path}`).pathname,
  'new URL, by itself': (path) => readAsUrl(path),
  'path.posix.normalize': (path) => posix.normalize(`/${path}`),
  'path.win32.normalize': (path) => win32.normalize(`/${path}`).replaceAll('\\', '/'),
  'trimming the whole': (path) => path.trim(),
  'trimming each segment': (path) => eachSegment(path, (segment) => segment.trim()),
  'cutting off parameters': (path) => eachSegment(path, (segment) => segment.replace(/;.*/, '')),
  NFC: (path) => path.normalize('NFC'),
  NFD: (path) => path.normalize('NFD'),
  'dropping what cannot be seen': (path) => path.replace(/[\p{Cc}\p{Cf}]/gu, ''),
  'NFKC of slashes and dots': (path) => posix.normalize(`/${foldedSlashesAndDots(path)}`),
};

/** A name, as what has no `/` is, may have what ends the path of a URL: who makes a URL of it has to encode that. */
const NAME_READERS: Readonly<Record<string, (path: string) => string>> = {
  ...READERS,
  'new URL': (name) => new URL(`http://host/${encodeURIComponent(name)}`).pathname,
  'new URL, by itself': (name) => new URL(encodeURIComponent(name), 'http://host/').pathname,
  'cutting off parameters': (name) => name,
};

/** One leading `/`, before and after, means nothing. */
function readBy(reader: string, text: string): string {
  const path = text.replace(/^\//, '');
  const readers = path.includes('/') ? READERS : NAME_READERS;
  return readers[reader]?.(path).replace(/^\//, '') ?? '';
}

function readAsUrl(path: string): string {
  const { protocol, pathname } = new URL(path, 'http://host/');
  return protocol === 'http:' ? pathname : path;
}

function eachSegment(path: string, change: (segment: string) => string): string {
  return path.split('/').map(change).join('/');
}

function foldedSlashesAndDots(path: string): string {
  const folded = (character: string): string => {
    const form = character.normalize('NFKC');
    return /[./\\]/.test(form) ? form.replaceAll('\\', '/') : character;
  };
  return Array.from(path, folded).join('');
}

const text = fc.array(fc.constantFrom(...PARTS), { minLength: 1, maxLength: 6 }).map((parts) => parts.join(''));
const plainPath = fc.array(fc.constantFrom(...PLAIN), { minLength: 1, maxLength: 3 }).map((parts) => parts.join('/'));
/** A path that a policy denies, with something put into it. */
const odd = fc
  .tuple(plainPath, fc.constantFrom(...PARTS), fc.nat())
  .map(([path, part, at]) => path.slice(0, at % (path.length + 1)) + part + path.slice(at % (path.length + 1)));
const pair: fc.Arbitrary<Pair> = fc
  .record({ type: fc.oneof(fc.constantFrom(...PLAIN), text), id: fc.oneof(odd, odd, plainPath, text) })
  .filter(({ type, id }) => resourceTypeFault(type) === undefined && resourcePathFault(id) === undefined);

const PATTERNS = ['*', ...combined(2), ...combined(2).map((path) => `${path}/*`)].filter(
  (pattern) => resourcePatternFault(pattern) === undefined,
);

function combined(depth: number): string[] {
  if (depth === 1) return PLAIN;
  return [...PLAIN, ...PLAIN.flatMap((first) => combined(depth - 1).map((rest) => `${first}/${rest}`))];
}

/** By a policy for each pattern. */
const evaluators = PATTERNS.map((pattern) => {
  const evaluator = new PolicyEvaluator();
  const rules = { subjects: ['*'], actions: ['*'], resourceTypes: [], resources: [pattern], priority: 0 };
  evaluator.add({ id: 'pol_1', name: 'deny', version: '1', effect: 'deny', ...rules } satisfies PolicyRules);
  return { pattern, evaluator };
});

function caughtBy({ type, id }: Pair): string[] {
  const subject = { agentId: 'agt_1', agentName: 'bot', roles: [] };
  const request = { subject, action: 'read', resourceType: type, resourceId: id };
  return evaluators
    .filter(({ evaluator }) => evaluator.evaluate(request).effect === 'deny')
    .map(({ pattern }) => pattern);
}

describe('What reads a resource later', () => {
  it.each(Object.keys(READERS))('finds that the same policies deny it: %s', (reader) => {
    fc.assert(
      fc.property(pair, ({ type, id }) => {
        const asRead = { type: readBy(reader, type), id: readBy(reader, id) };
        expect(caughtBy(asRead)).toEqual(caughtBy({ type, id }));
      }),
      { numRuns: 500 },
    );
  });

  it('is sent pairs that are accepted, and caught, often enough for that to say something', () => {
    const sample = fc.sample(pair, 1_000);
    expect(sample.filter((each) => caughtBy(each).length > 1).length).toBeGreaterThan(200);
    expect(sample.filter(({ id }) => /[^a-z/]/.test(id)).length).toBeGreaterThan(200);
  });
});
