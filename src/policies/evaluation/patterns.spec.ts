import { actionFault } from './action-pattern';
import { resourcePathFault, resourceTypeFault } from './resource-path';
import { listedTypeFault, resourcePatternFault } from './resource-pattern';
import { subjectFault, subjectWarning } from './subject-pattern';

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
    ':x',
  ])('accepts %s', (subject) => {
    expect(subjectFault(subject)).toBeUndefined();
  });

  it.each(['role:', 'agent:', 'user:', 'role: ', ' ', '**', 'role:a*', 'agent:*x', 'bot*', 'user:*', 'a*b', 'role:**'])(
    'refuses %j',
    (subject) => {
      expect(subjectFault(subject)).toEqual(expect.any(String));
    },
  );

  it('warns of kinds that match nothing, and only of those', () => {
    expect(subjectWarning('user:x')).toContain('user:x');
    expect(subjectWarning('Role:ops')).toContain('"Role:"');
    for (const subject of ['*', 'role:ops', 'role:*', 'agent:user:x', 'agent:*', 'bot'])
      expect(subjectWarning(subject)).toBeUndefined();
  });
});

describe('actions', () => {
  it.each(['*', 'read', 'decision:approve'])('accepts %s', (action) => {
    expect(actionFault(action)).toBeUndefined();
  });

  it.each(['read*', '**', 'a*b', ' '])('refuses %j', (action) => {
    expect(actionFault(action)).toEqual(expect.any(String));
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
/** What has no `/` is a name, which may hold what would end the path of a URL. */
const NAMES = ['What is this?', 'Issue #12', 'a;b', '/a;b?c#d', 'a%3Bb', 'a%3F', 'http:', 'http:a'];
const NO_PATHS = [
  '/', '//', '//a', 'a/', 'a//b', '/a/', '.', '..', '/.', 'a/.', 'a/..', '../a', 'a/./b', 'a/../b',
  '%2e', '%2E%2e', 'a/%2e./b', 'a/.%2e', '%252e%252e/a', 'a/%25252e/b', 'a%2f..%2fb', 'a%2f%2fb', 'a%2F', '%2Fa',
  'docs%2fa', '%64ocs/a', 'a/%2561', '%ff', '%c0%af', 'a/%c0%ae',
  'a\nb', 'a\u0000', 'a\u007f', 'a\u0085b', 'a%0ab', 'a%00', 'a%250Ab', 'a%C2%85b', '%7f',
  'a\\b', 'a/..\\b', '\\', 'a%5Cb', 'a%255cb', 'a\u200bb', '\ufeffa', 'a/\u00adb', 'a%E2%80%8Bb', 'a%25E2%2580%258B', '\u202ea',
  'a ', ' a', 'a /b', 'a/ b', 'a/b\u00a0', '\u2028a', 'a%20', '%20a/b', 'a/%2520b', 'a/b%C2%A0',
  'a/b?', 'a?/b', '/a/b#c', 'a/b;', 'a/..;/b', 'a;x=1/b', 'a/b%3F', 'a/b%23c', 'a/b%3B', 'a/b%253b', 'a/b\u037e', 'a/b%CD%BE',
  '\uff0e', '\uff0e\uff0e/a', 'a/.\uff0e', 'a/\u2025', '\u2024', 'a\uff0fb', 'a/b\uff3cc', '\u2100', 'a%EF%BC%8Fb', 'a/%EF%BC%8E',
  'https://h/a', 'http:a/b', 'FILE:/a', '/wss:/a', Array(65).fill('a').join('/'),
]; // prettier-ignore

describe('resource paths', () => {
  it.each([...PATHS, ...NAMES])('accepts %j', (path) => {
    expect(resourcePathFault(path)).toBeUndefined();
  });

  it.each(NO_PATHS)('refuses %j', (path) => {
    expect(resourcePathFault(path)).toEqual(expect.any(String));
  });
});

describe('resource types', () => {
  it.each(['docs', 'a.b', 'decision'])('accepts %s', (type) => {
    expect(resourceTypeFault(type)).toBeUndefined();
  });

  it.each([
    ...['a/b', '/a', '.', '..', '%2e%2e', 'a%2Fb', '%61', 'a%ff', 'a\u0001', 'a\\b', 'a ', ' a', 'a\u200b'],
    ...['\uff0e\uff0e', 'a\uff0fb', 'a%5C', 'a%20'],
  ])('refuses %j', (type) => {
    expect(resourceTypeFault(type)).toEqual(expect.any(String));
    expect(listedTypeFault(type)).toEqual(expect.any(String));
  });

  it.each(['*', 'a*', '*/b'])('refuses the star in %s where a policy lists it', (type) => {
    expect(listedTypeFault(type)).toContain('"*"');
  });
});

describe('resource patterns', () => {
  it.each(['*', '/*', ...NAMES, ...PATHS, ...PATHS.map((path) => `${path}/*`)])('accepts %j', (pattern) => {
    expect(resourcePatternFault(pattern)).toBeUndefined();
  });

  it.each([
    ...NO_PATHS,
    ...[...NO_PATHS, ...NAMES].map((path) => `${path}/*`).filter((pattern) => pattern !== '//*'),
    '//*',
  ])('refuses %j', (pattern) => {
    expect(resourcePatternFault(pattern)).toEqual(expect.any(String));
  });

  it.each(['**', '/**', 'a*', '*a', 'a*/b', '*/a', 'a/*/b', 'a/**', '*/*', '/*/*', 'a/*/*', 'a/b*'])(
    'refuses the star in %s',
    (pattern) => {
      expect(resourcePatternFault(pattern)).toContain('"*"');
    },
  );
});
