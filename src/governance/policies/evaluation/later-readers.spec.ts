import * as fc from 'fast-check';
import { posix, win32 } from 'node:path';
import { compilePolicy, type PolicyRules } from './compiled-policy';
import { PolicyEvaluator } from './policy-evaluator';
import { resourcePathFault, resourceTypeFault, resourcePatternFault, isUrl } from '../patterns/resources';

/** A resource as a caller sends it. */
interface Pair {
  readonly type: string;
  readonly id: string;
}

/** Fragments that become meaningful when joined. */
const PARTS = [
  'a', 'a', 'b', 'vault', 'prod', 'caf\u00e9', 'cafe\u0301', 'e\u0301', 'A', '*', '+', ':', 'http:', 'c:', '50%', '...',
  '/', '/', '/', '//', '\\', '.', '..', '../', './', '?', '#', ';', ';x=1', ' ', '\u00a0', '\t', '\n', '\ufeff', '\u200b',
  '\uff0f', '\uff3c', '\uff0e', '\uff0e\uff0e', '\u2024', '\u2025', '\ufe68', '\u2100', '\u037e', '\u2000', '\u00ad', '\u212b',
  '%2F', '%5C', '%255c', '%2E', '%3F', '%23', '%3B', '%253b', '%20', '%2520', '%C3%A9', '%CC%81', '%EF%BC%8F', '%C2%A0',
  '%E2%80%8B', '%', '%25', '%3A', '%2A', '%0A', '%FF', '%61', '&', '"', '<', '`', '{', '|', '^', '~', '\u{1f600}',
]; // prettier-ignore
/** Paths that policies deny: alone, or with everything below. */
const PLAIN = ['a', 'b', 'vault', 'prod', 'caf\u00e9', 'e\u0301', 'a b', 'a\u00e9', '50%', 'A', 'http:', 'c:', '+'];

/**
 * Ways in which other programs read a path: `/` before it means nothing, and keeps `c:` and `http:` from being more
 * than a name.
 */
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

/**
 * Readers of a name. It has no `/`, but may contain characters that end the path of a URL, which must be encoded in a
 * URL.
 */
const NAME_READERS: Readonly<Record<string, (path: string) => string>> = {
  ...READERS,
  'new URL': (name) => new URL(`http://host/${encodeURIComponent(name)}`).pathname,
  'new URL, by itself': (name) => new URL(encodeURIComponent(name), 'http://host/').pathname,
  'cutting off parameters': (name) => name,
};

/** Ways in which other programs read a URL. */
const URL_READERS: Readonly<Record<string, (url: string) => string>> = {
  'new URL': (url) => new URL(url).href,
  'new URL, from another': (url) => new URL(url, 'https://base/a/b?c#d').href,
  'by its parts': (url) => partsOf(new URL(url)),
  'trimming the whole': (url) => url.trim(),
  'cutting off what follows the path': (url) => url.replace(/[?#;].*/, ''),
  NFC: (url) => url.normalize('NFC'),
  NFD: (url) => url.normalize('NFD'),
  'dropping what cannot be seen': (url) => url.replace(/[\p{Cc}\p{Cf}]/gu, ''),
  'lower-casing the host': (url) => url.replace(/^[^:]+:\/\/[^/]*/, (origin) => origin.toLowerCase()),
};

function partsOf({ protocol, hostname, port, pathname }: URL): string {
  return `${protocol}//${hostname}${port === '' ? '' : `:${port}`}${pathname}`;
}

/** Reads a text; one leading `/`, before and after, means nothing. */
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
/** A path that a policy denies, with something inserted. */
const odd = fc
  .tuple(plainPath, fc.constantFrom(...PARTS), fc.nat())
  .map(([path, part, at]) => path.slice(0, at % (path.length + 1)) + part + path.slice(at % (path.length + 1)));
const pair: fc.Arbitrary<Pair> = fc
  .record({ type: fc.oneof(fc.constantFrom(...PLAIN), text), id: fc.oneof(odd, odd, plainPath, text) })
  .filter(({ type, id }) => resourceTypeFault(type) === undefined && resourcePathFault(id) === undefined && !isUrl(id));

const ORIGINS = ['https://h', 'https://h:8443', 'http://h', 's3://h', 'https://a.b', 'file://'];
const url: fc.Arbitrary<string> = fc
  .tuple(
    fc.constantFrom(...ORIGINS, ...ORIGINS, 'HTTPS://h', 'https://H', 'https://h:443', 'https://u@h', 'https://h.'),
    odd,
    fc.nat(),
  )
  .map(([origin, path, at]) => (at % 4 === 0 ? `${origin}${path}` : `${origin}/${path}`))
  .filter((text) => isUrl(text) && resourcePathFault(text) === undefined);

const PATTERNS = ['*', ...combined(2), ...combined(2).map((path) => `${path}/*`)].filter(
  (pattern) => resourcePatternFault(pattern) === undefined,
);

function combined(depth: number): string[] {
  if (depth === 1) return PLAIN;
  return [...PLAIN, ...PLAIN.flatMap((first) => combined(depth - 1).map((rest) => `${first}/${rest}`))];
}

const URL_PATTERNS = ORIGINS.flatMap((origin) => [
  ...combined(1).flatMap((path) => [`${origin}/${path}`, `${origin}/${path}/*`]),
  `${origin}/*`,
]);

/** One evaluator for the policy of each pattern. */
const evaluators = evaluatorsOf(PATTERNS);
const urlEvaluators = evaluatorsOf(URL_PATTERNS);

function evaluatorsOf(patterns: readonly string[]): { pattern: string; evaluator: PolicyEvaluator }[] {
  return patterns.map((pattern) => ({ pattern, evaluator: evaluatorOf(pattern) }));
}

function evaluatorOf(pattern: string): PolicyEvaluator {
  const evaluator = new PolicyEvaluator();
  const rules = {
    subjects: ['*'],
    actions: ['*'],
    resourceTypes: [],
    resources: [pattern],
    priority: 0,
    approval: null,
    team: null,
    conditions: [],
    limits: [],
    onBehalfOf: [],
  };
  evaluator.put(
    ([{ id: 'pol_1', name: 'deny', version: '1', effect: 'deny', ...rules }] satisfies PolicyRules[]).map(
      compilePolicy,
    ),
    [],
  );
  return evaluator;
}

function caughtBy({ type, id }: Pair, by = evaluators): string[] {
  const subject = { agentId: 'agt_1', agentName: 'bot', kind: 'machine', roles: [] } as const;
  const request = { subject, action: 'read', resourceType: type, resourceId: id, parameters: {}, at: '' };
  return by.filter(({ evaluator }) => evaluator.evaluate(request).effect === 'deny').map(({ pattern }) => pattern);
}

describe('What reads a resource later', () => {
  it.each(Object.keys(READERS))('finds that the same policies deny it: %s', (reader) => {
    fc.assert(
      fc.property(pair, ({ type, id }) => {
        const asRead = { type: readBy(reader, type), id: readBy(reader, id) };
        expect(caughtBy(asRead)).toEqual(caughtBy({ type, id }));
      }),
      { numRuns: 100 },
    );
  });

  it.each(Object.entries(URL_READERS))('finds that the same policies deny a URL: %s', (_, read) => {
    fc.assert(
      fc.property(url, (id) => {
        expect(caughtBy({ type: 'a', id: read(id) }, urlEvaluators)).toEqual(
          caughtBy({ type: 'a', id }, urlEvaluators),
        );
      }),
      { numRuns: 50 },
    );
  });

  it('is sent URLs that are caught often enough for that to say something', () => {
    const sample = fc.sample(url, 400);
    expect(sample.filter((id) => caughtBy({ type: 'a', id }, urlEvaluators).length > 1).length).toBeGreaterThan(40);
    expect(sample.filter((id) => /[^a-z:/]/.test(id)).length).toBeGreaterThan(40);
  });

  it('is sent pairs that are accepted, and caught, often enough for that to say something', () => {
    const sample = fc.sample(pair, 400);
    expect(sample.filter((each) => caughtBy(each).length > 1).length).toBeGreaterThan(40);
    expect(sample.filter(({ id }) => /[^a-z/]/.test(id)).length).toBeGreaterThan(40);
  });
});
