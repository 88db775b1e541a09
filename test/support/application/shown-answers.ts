/** Represents any text; as the name of a member, members that are left out. */
const ANYTHING = '…';

/** The JSON documents in a text, each of which begins at the start of a line. */
export function shownAnswers(text: string): unknown[] {
  return text
    .trim()
    .split(/\n(?=\{)/)
    .map((document): unknown => JSON.parse(document));
}

/** Differences between an answer and the one in the document, with their paths; empty if there are none. */
export function differences(actual: unknown, expected: unknown, path = 'answer'): string[] {
  if (typeof expected === 'string') return textDifferences(actual, expected, path);
  if (Array.isArray(expected)) return listDifferences(actual, expected, path);
  if (typeof expected === 'object' && expected !== null) return memberDifferences(actual, expected as Members, path);
  return actual === expected ? [] : [difference(actual, expected, path)];
}

type Members = Readonly<Record<string, unknown>>;

function textDifferences(actual: unknown, expected: string, path: string): string[] {
  const literals = expected.split(ANYTHING).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  const isMatch = typeof actual === 'string' && new RegExp(`^${literals.join('.*')}$`, 's').test(actual);
  return isMatch ? [] : [difference(actual, expected, path)];
}

function listDifferences(actual: unknown, expected: readonly unknown[], path: string): string[] {
  if (!Array.isArray(actual) || actual.length !== expected.length) return [difference(actual, expected, path)];
  return expected.flatMap((item, index) => differences(actual[index], item, `${path}[${index}]`));
}

function memberDifferences(actual: unknown, expected: Members, path: string): string[] {
  if (typeof actual !== 'object' || actual === null) return [difference(actual, expected, path)];
  const { [ANYTHING]: more, ...members } = expected;
  const actualMembers = actual as Members;
  const unshown = more === undefined ? Object.keys(actualMembers).filter((name) => !(name in members)) : [];
  return [
    ...unshown.map((name) => `${path}.${name} is not shown`),
    ...Object.entries(members).flatMap(([name, value]) => differences(actualMembers[name], value, `${path}.${name}`)),
  ];
}

function difference(actual: unknown, expected: unknown, path: string): string {
  return `${path} is ${JSON.stringify(actual)}, shown is ${JSON.stringify(expected)}`;
}
