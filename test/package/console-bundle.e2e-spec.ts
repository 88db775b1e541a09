import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { ROOT } from '../support/documents/markdown';
import { run } from '../support/processes/shell';

const CONSOLE = join(ROOT, 'console');
const ASSETS = join(ROOT, 'src', 'operations', 'console', 'assets');
/** Compressed bytes of everything that a page loads. */
const MOST_BYTES = 80 * 1024;

function filesIn(folder: string): Record<string, string> {
  return Object.fromEntries(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), 'utf8')]));
}

describe("The console's bundle", () => {
  it('is what its sources produce', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'console-bundle-'));
    const { errors, exitCode } = await run(process.execPath, [join(CONSOLE, 'build.mjs'), folder]);
    expect([exitCode, errors]).toEqual([0, '']);
    const made = filesIn(folder);
    rmSync(folder, { recursive: true });
    // `npm run console` brings it up to date.
    expect(Object.keys(filesIn(ASSETS))).toEqual(Object.keys(made));
    expect(filesIn(ASSETS)).toEqual(made);
  });

  it('is small, compressed', () => {
    const files = filesIn(ASSETS);
    const names = Object.keys(files);
    // The overview, which most people open the console with, is a file of its own; other screens come when they are
    // shown.
    const first = names.filter((name) => /^(?:index\.html|icon-0|console|overview)/.test(name));
    const loaded = new Set(first);
    for (const name of loaded)
      for (const [, path = ''] of (files[name] ?? '').matchAll(/(?:from|import)"\.\/([^"]+)"/g)) loaded.add(path);
    expect(first).toHaveLength(5);
    expect(loaded.size).toBeGreaterThan(first.length);
    const bytes = [...loaded].reduce((sum, name) => sum + gzipSync(files[name] ?? '').length, 0);
    expect(bytes).toBeLessThan(MOST_BYTES);
    expect(names.some((name) => name.startsWith('passkey-signing') && !loaded.has(name))).toBe(true);
  });
});
