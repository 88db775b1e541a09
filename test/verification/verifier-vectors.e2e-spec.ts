import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ROOT } from '../support/documents/markdown';

/** Test data from elsewhere, which is not part of the project. */
const VECTORS = join(ROOT, '../shared/vectors');
const whenPresent = existsSync(VECTORS) ? describe : describe.skip;

/** Runs lines of a module, which can load the verifier's own modules by `load(name)`, and returns their output. */
function run(lines: string): unknown {
  const base = pathToFileURL(join(ROOT, 'verifier/')).href;
  const program = `const load = (name) => import(${JSON.stringify(base)} + name + '.mjs');\n${lines}`;
  return JSON.parse(execFileSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' }));
}

whenPresent('The verifier’s canonical JSON (../shared/vectors/jcs)', () => {
  const folder = join(VECTORS, 'jcs/testdata');
  it.each(existsSync(folder) ? readdirSync(join(folder, 'input')) : [])('is that of %s', (name) => {
    const [input, output] = ['input', 'output'].map((kind) => readFileSync(join(folder, kind, name), 'utf8'));
    const canonical = run(
      `const { canonicalJson } = await load('canonical-json');
       console.log(JSON.stringify(canonicalJson(JSON.parse(${JSON.stringify(input)}))))`,
    );
    expect(canonical).toBe(output?.trimEnd());
  });
});

whenPresent('The verifier’s trees and signatures (../shared/vectors/tessera-log)', () => {
  it('match those of another log at each of its sizes', () => {
    const folder = join(VECTORS, 'tessera-log/testdata/log');
    const notes = readdirSync(folder)
      .filter((name) => name.startsWith('checkpoint.'))
      .map((name) => readFileSync(join(folder, name), 'utf8'));
    expect(notes.length).toBeGreaterThan(10);
    const results = run(
      `const { MerkleTree } = await load('merkle-tree');
       const { parseCheckpoint, parseVerifierKey, isSigned } = await load('checkpoint');
       const leaves = 'one two three four five six seven eit nain ten ileven twelf threeten fourten fivten'.split(' ');
       const key = parseVerifierKey('example.com/log/testdata+33d7b496+AeHTu4Q3hEIMHNqc6fASMsq3rKNx280NI+oO5xCFkkSx');
       console.log(JSON.stringify(await Promise.all(${JSON.stringify(notes)}.map(async (note) => {
         const checkpoint = parseCheckpoint(note);
         const tree = new MerkleTree();
         for (const leaf of leaves.slice(0, checkpoint.size)) tree.add(Buffer.from(leaf));
         const altered = { ...checkpoint, signed: note };
         return [tree.root.equals(checkpoint.root), await isSigned(checkpoint, [key]), await isSigned(altered, [key])];
       }))))`,
    );
    expect(results).toEqual(notes.map(() => [true, true, false]));
  });
});
