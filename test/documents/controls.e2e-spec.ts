import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describeOnSqlite } from '../support/database/database-kind';
import { readDocument, ROOT } from '../support/documents/markdown';

/** Numbers of requirements in AISVS 1.0, by the number of the section. */
const REQUIREMENTS: Readonly<Record<string, number>> = {
  ...{ '9.1': 3, '9.2': 10, '9.3': 8, '9.4': 4, '9.5': 6, '9.6': 3 },
  ...{ '10.1': 3, '10.2': 7, '10.3': 5, '10.4': 8 },
};

interface Row {
  readonly requirement: string;
  readonly cells: readonly string[];
}

/** Links and anchors of every page are checked by docs.e2e-spec.ts. */
describeOnSqlite('docs/controls.md', () => {
  const rows: readonly Row[] = readDocument('docs/controls.md')
    .split('\n')
    .filter((line) => line.startsWith('| ') && !/^\| (?:Requirement|Article) \|/.test(line))
    .map((line) => line.split('|').slice(1, -1))
    .map(([requirement = '', ...cells]) => ({
      requirement: requirement.trim(),
      cells: cells.map((cell) => cell.trim()),
    }));
  const aisvs = rows.filter(({ requirement }) => requirement.startsWith('v1.0-'));

  it('has each requirement of chapters 9 and 10 once, in order', () => {
    const expected = Object.entries(REQUIREMENTS).flatMap(([section, count]) =>
      Array.from({ length: count }, (_, index) => `v1.0-C${section}.${index + 1}`),
    );
    expect(aisvs.map(({ requirement }) => requirement)).toEqual(expected);
  });

  it('says of each whether it is met here, and with what', () => {
    for (const { requirement, cells } of aisvs) {
      const [verdict, means = '', evidence = ''] = cells;
      expect([requirement, verdict]).toEqual([requirement, expect.stringMatching(/^(?:met|in part|elsewhere)$/)]);
      if (verdict !== 'elsewhere')
        expect([requirement, means !== '', evidence !== '']).toEqual([requirement, true, true]);
    }
  });

  it('names only tests that exist', () => {
    const tests = rows.flatMap(({ cells }) =>
      [...(cells.at(-1) ?? '').matchAll(/`([^`]+)`/g)].map(([, path = '']) => path),
    );
    expect(tests.length).toBeGreaterThan(40);
    expect(tests.filter((path) => !path.startsWith('test/') || !existsSync(join(ROOT, path)))).toEqual([]);
  });

  it('names only settings that exist', () => {
    const settings = rows.flatMap(({ cells }) => cells.join(' ').match(/(?<=`)[A-Z]+(?:_[A-Z]+)+(?=`)/g) ?? []);
    expect(settings.filter((name) => !readDocument('docs/settings.md').includes(`| \`${name}\` |`))).toEqual([]);
  });
});
