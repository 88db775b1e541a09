import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const ROOT = join(__dirname, '..', '..');
const MODULE = join(ROOT, 'clients', 'cli', 'copied-sources.mjs');
const PRINT = `const { copies } = await import(process.argv[1]); process.stdout.write(JSON.stringify(copies()));`;

interface Copy {
  readonly path: string;
  readonly text: string;
}

describe('The rules that gov shares with the service', () => {
  const output = execFileSync(process.execPath, ['--input-type=module', '-e', PRINT, pathToFileURL(MODULE).href]);
  const copies = JSON.parse(output.toString()) as Copy[];

  it.each(copies)('are the same in the copy that the build of gov makes: $path', ({ path, text }) => {
    expect(readFileSync(path, 'utf8')).toBe(text);
  });
});

describe('The reasons of evaluations in the clients', () => {
  it('are those of the API document (`npm run openapi` brings them up to date)', () => {
    // Throws if the exit code is not 0.
    expect(() =>
      execFileSync(process.execPath, [join(ROOT, 'scripts', 'write-client-reasons.mjs'), '--check']),
    ).not.toThrow();
  });
});
