import fc from 'fast-check';
import { actionPatternFault } from '../../../core/values/action-pattern';
import { resourcePathFault, resourceTypeFault, listedTypeFault, resourcePatternFault } from './resources';
import { subjectFault, subjectWarning } from './subjects';

describe('subjects', () => {
  it.each([
    '*',
    'role:*',
    'agent:*',
    'role:ops',
    'role:a:b',
    'agent:bot',
    'agent:user:x',
    'agt_01J',
    'bot',
    'user:x',
    'user:*',
    'user:a:b',
    'kind:human',
    'kind:machine',
    ':x',
  ])('accepts %s', (subject) => {
    expect(subjectFault(subject)).toBeUndefined();
  });

  it.each([
    'role:',
    'agent:',
    'user:',
    'role: ',
    ' ',
    '**',
    'role:a*',
    'agent:*x',
    'bot*',
    'a*b',
    'role:**',
    'user:**',
    'u*:*',
    'user:a*',
    'kind:',
    'kind:*',
    'kind:Human',
    'kind:person',
  ])('refuses %j', (subject) => {
    expect(subjectFault(subject)).toEqual(expect.any(String));
  });

  it('warns only about subjects that can match nobody', () => {
    for (const subject of ['user:x\u200b', 'us\u0007er:*', 'agent: bot', 'role:ops ', 'a/b'])
      expect(subjectWarning(subject)).toContain('matches nothing');
    for (const subject of [
      '*',
      'role:ops',
      'role:*',
      'agent:user:x',
      'agent:*',
      'bot',
      'user:x',
      'user:*',
      'kind:human',
    ])
      expect(subjectWarning(subject)).toBeUndefined();
  });
});

describe('actions', () => {
  it.each(['*', 'read', 'decision:approve', 'read*', 'github.*'])('accepts %s', (action) => {
    expect(actionPatternFault(action)).toBeUndefined();
  });

  it.each(['read**', '**', 'a*b', '*a', ' ', 'cafe\u0301'])('refuses %j', (action) => {
    expect(actionPatternFault(action)).toEqual(expect.any(String));
  });
});

const PATHS = [
  'a',
  '/a',
  'docs/a',
  'docs/a/b',
  'a.b',
  '...',
  '.a',
  'a..',
  'A b',
  '100%',
  '%zz',
  '%e2%82%ac',
  '50% off',
  'a%3Ab%20c',
  '\u2026',
  'a+b',
  'a:b/c',
  'caf\u00e9/e\u0301',
  Array(64).fill('a').join('/'),
];
/** A text without `/` is a name, which may contain what would end the path of a URL. */
const NAMES = ['What is this?', 'Issue #12', 'a;b', '/a;b?c#d', 'a%3Bb', 'a%3F', 'http:', 'http:a'];
const URLS = [
  'https://h/a', 'https://api.example.com/v1/users', 'http://h:8080/a', 'https://[::1]/a', 'https://127.0.0.1/a', 'ws://h/a:b',
  'https://h/a b', 'https://h/a%20b', 'https://h/caf\u00e9', 'https://h/http:a', 's3://bucket/key', 'git+ssh://h/a', 'x-1.2://a/b',
  'file:///etc/passwd', 'file://server/share/a', 'https://xn--caf-dma.example/a', 'postgres://h:5432/db', 'https://h/50%',
  `https://h/${Array(64).fill('a').join('/')}`,
]; // prettier-ignore
const NO_URLS = [
  'https://h', 'https://h/', 'https://', 'https:///a', 's3:///a', 'HTTPS://h/a', 'https://H/a', 'S3://b/k', 's3://B/k',
  'https://u@h/a', 'https://u:p@h/a', 'https://@h/a', 'https://h:443/a', 'http://h:80/a', 'ws://h:80/a', 'https://h:/a', 'https://h:08443/a',
  'https://h:99999/a', 'https://h:x/a', 'https://h/a?b=c', 'https://h/a?', 'https://h/a#b', 'https://h?/a', 'https://h#/a', 'https://h/a;b',
  'https://h/a%3Fb', 'https://h/a%253Bb', 'https://h/a%23', 'https://h/a%CD%BE', 'https://h/a//b', 'https://h//a', 'https://h/a/',
  'https://h/a/../b', 'https://h/.', 'https://h/%2e%2e/a', 'https://h/a%2Fb', 'https://h/a\\b', 'https://h\\a', 'https://h/\uff0e\uff0e/a',
  'https://caf\u00e9.example/a', 's3://b\u00fccket/k', 'https://%68/a', 'https://h%2Fx/a', 'https://a b/c', 'https://h./a', 'https://.h/a', 's3://a..b/c',
  'https://0x7f.1/a', 'https://127.1/a', 'https://[::0:1]/a', 's3://[::0:1]/a', 'https://*/a', 'https://h*/a', 'file://localhost/a', 'file:///C|/a',
  '/https://h/a', '/s3://b/k', '//h/a', '://h/a', '1s://h/a', 's_3://h/a', 'a/https://h/b', 'https%3A//h/a', 'https://h/a ', 'https://h/ a',
  'https://h/a\u200b', 'https://h/a%00', 'https://\ufeffh/a', 'https://h/%61', 'https://h/%FF', `https://h/${Array(65).fill('a').join('/')}`,
]; // prettier-ignore
const NO_PATHS = [
  '/', '//', '//a', 'a/', 'a//b', '/a/', '.', '..', '/.', 'a/.', 'a/..', '../a', 'a/./b', 'a/../b',
  '%2e', '%2E%2e', 'a/%2e./b', 'a/.%2e', '%252e%252e/a', 'a/%25252e/b', 'a%2f..%2fb', 'a%2f%2fb', 'a%2F', '%2Fa',
  'docs%2fa', '%64ocs/a', 'a/%2561', '%ff', '%c0%af', 'a/%c0%ae',
  'a\nb', 'a\u0000', 'a\u007f', 'a\u0085b', 'a%0ab', 'a%00', 'a%250Ab', 'a%C2%85b', '%7f',
  'a\\b', 'a/..\\b', '\\', 'a%5Cb', 'a%255cb', 'a\u200bb', '\ufeffa', 'a/\u00adb', 'a%E2%80%8Bb', 'a%25E2%2580%258B', '\u202ea',
  'a ', ' a', 'a /b', 'a/ b', 'a/b\u00a0', '\u2028a', 'a%20', '%20a/b', 'a/%2520b', 'a/b%C2%A0',
  'a/b?', 'a?/b', '/a/b#c', 'a/b;', 'a/..;/b', 'a;x=1/b', 'a/b%3F', 'a/b%23c', 'a/b%3B', 'a/b%253b', 'a/b\u037e', 'a/b%CD%BE',
  '\uff0e', '\uff0e\uff0e/a', 'a/.\uff0e', 'a/\u2025', '\u2024', 'a\uff0fb', 'a/b\uff3cc', '\u2100', 'a%EF%BC%8Fb', 'a/%EF%BC%8E',
  'http:a/b', 'FILE:/a', '/wss:/a', Array(65).fill('a').join('/'),
]; // prettier-ignore

describe('resource paths', () => {
  it.each([...PATHS, ...NAMES, ...URLS])('accepts %j', (path) => {
    expect(resourcePathFault(path)).toBeUndefined();
  });

  it.each([...NO_PATHS, ...NO_URLS])('refuses %j', (path) => {
    expect(resourcePathFault(path)).toEqual(expect.any(String));
  });

  it('are validated alike with and without a preceding segment that excludes the fast path', () => {
    const segment = fc.string({
      unit: fc.constantFrom('a', 'Z', '9', '_', '-', '.', ' ', ':', '%', ';', '*'),
      maxLength: 4,
    });
    fc.assert(
      fc.property(fc.array(segment, { minLength: 2, maxLength: 70 }), (segments) => {
        const path = segments.join('/');
        fc.pre(!path.startsWith('/'));
        expect(resourcePathFault(`é/${path}`) === undefined).toBe(
          segments.length < 64 && resourcePathFault(path) === undefined,
        );
      }),
      { numRuns: 2000 },
    );
  });
});

describe('resource types', () => {
  it.each(['docs', 'a.b', 'decision'])('accepts %s', (type) => {
    expect(resourceTypeFault(type)).toBeUndefined();
  });

  it.each([
    'a/b',
    '/a',
    '.',
    '..',
    '%2e%2e',
    'a%2Fb',
    '%61',
    'a%ff',
    'a\u0001',
    'a\\b',
    'a ',
    ' a',
    'a\u200b',
    '\uff0e\uff0e',
    'a\uff0fb',
    'a%5C',
    'a%20',
  ])('refuses %j', (type) => {
    expect(resourceTypeFault(type)).toEqual(expect.any(String));
    expect(listedTypeFault(type)).toEqual(expect.any(String));
  });

  it.each(['*', 'a*', '*/b'])('refuses the star in %s in the list of a policy', (type) => {
    expect(listedTypeFault(type)).toContain('"*"');
  });
});

describe('resource patterns', () => {
  it.each([
    '*',
    '/*',
    ...NAMES,
    ...PATHS,
    ...URLS,
    ...[...PATHS, ...URLS].map((path) => `${path}/*`),
    'https://h/*',
    'file:///*',
  ])('accepts %j', (pattern) => {
    expect(resourcePatternFault(pattern)).toBeUndefined();
  });

  it.each([
    ...NO_PATHS,
    ...NO_URLS,
    ...[...NO_PATHS, ...NAMES].map((path) => `${path}/*`).filter((pattern) => pattern !== '//*'),
    '//*',
    ...NO_URLS.filter((url) => !['https://h', 'file://localhost'].includes(url)).map((url) => `${url}/*`),
  ])('refuses %j', (pattern) => {
    expect(resourcePatternFault(pattern)).toEqual(expect.any(String));
  });

  it.each([
    '**',
    '/**',
    'a*',
    '*a',
    'a*/b',
    '*/a',
    'a/*/b',
    'a/**',
    '*/*',
    '/*/*',
    'a/*/*',
    'a/b*',
    'https://h/*/a',
    'https://h*/*',
    'https://h/a*',
  ])('refuses the star in %s', (pattern) => {
    expect(resourcePatternFault(pattern)).toContain('"*"');
  });
});
