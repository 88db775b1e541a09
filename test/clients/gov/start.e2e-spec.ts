import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ROOT } from '../../support/documents/markdown';

const MAIN = join(ROOT, 'clients', 'cli', 'src', 'main.ts');
/** Matches an import, and the module that it names, unless it imports types alone. */
const IMPORT = /^import (?!type )(?:[^'";]* from )?'([^']+)';$/gm;

/** The packages that are loaded whenever a module is: those that it imports, and those of the modules it imports. */
function packagesOf(path: string, seen = new Set<string>()): ReadonlySet<string> {
  for (const [, name = ''] of readFileSync(path, 'utf8').matchAll(IMPORT)) {
    const imported = name.startsWith('.') ? join(dirname(path), name.replace(/\.js$/, '.ts')) : name;
    if (seen.has(imported)) continue;
    seen.add(imported);
    if (name.startsWith('.')) packagesOf(imported, seen);
  }
  return new Set([...seen].filter((name) => !name.startsWith(ROOT) && !name.startsWith('node:')));
}

describe('gov', () => {
  it('starts without the packages that only some commands need: a hook runs it for each call of a tool', () => {
    expect([...packagesOf(MAIN)]).toEqual(['commander']);
  });
});
