import { ANSWER_REASONS } from '../../src/governance/permissions/permissions';
import { readDocument } from '../support/documents/markdown';

/** The quoted words of a list in a source. */
function wordsIn(path: string, list: RegExp): string[] {
  const [, words = ''] = list.exec(readDocument(path)) ?? [];
  return [...words.matchAll(/['"](\w+)['"]/g)].map(([, word = '']) => word);
}

describe('The reasons for which clients ask for an explanation', () => {
  it.each([
    ['clients/typescript/src/guard.ts', /^const EXPLAINED\b.*\(\[\n([^\]]*)\]\);$/m],
    ['clients/python/governance.py', /^_EXPLAINED = \{\n([^}]*)\}$/m],
  ])('are those that the policies can answer: %s', (path, list) => {
    expect(wordsIn(path, list).sort()).toEqual([...ANSWER_REASONS].sort());
  });
});
