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
export function differences(actual: unknown, shown: unknown, path = 'answer'): string[] {
  if (typeof shown === 'string') return textDifferences(actual, shown, path);
  if (Array.isArray(shown)) return listDifferences(actual, shown, path);
  if (typeof shown === 'object' && shown !== null) return memberDifferences(actual, shown as Members, path);
  return actual === shown ? [] : [difference(actual, shown, path)];
}

type Members = Readonly<Record<string, unknown>>;

function textDifferences(actual: unknown, shown: string, path: string): string[] {
  const literals = shown.split(ANYTHING).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  const isMatch = typeof actual === 'string' && new RegExp(`^${literals.join('.*')}$`, 's').test(actual);
  return isMatch ? [] : [difference(actual, shown, path)];
}

function listDifferences(actual: unknown, shown: readonly unknown[], path: string): string[] {
  if (!Array.isArray(actual) || actual.length !== shown.length) return [difference(actual, shown, path)];
  return shown.flatMap((item, index) => differences(actual[index], item, `${path}[${index}]`));
}

function memberDifferences(actual: unknown, shown: Members, path: string): string[] {
  if (typeof actual !== 'object' || actual === null) return [difference(actual, shown, path)];
  const { [ANYTHING]: more, ...members } = shown;
  const found = actual as Members;
  const unshown = more === undefined ? Object.keys(found).filter((name) => !(name in members)) : [];
  return [
    ...unshown.map((name) => `${path}.${name} is not shown`),
    ...Object.entries(members).flatMap(([name, value]) => differences(found[name], value, `${path}.${name}`)),
  ];
}

function difference(actual: unknown, shown: unknown, path: string): string {
  return `${path} is ${JSON.stringify(actual)}, shown is ${JSON.stringify(shown)}`;
}
