import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

// The typed client is bundled, so that the package is self-contained.
const folder = fileURLToPath(new URL('.', import.meta.url));
const dist = join(folder, 'dist');
const root = join(folder, '..', '..');
/** Files that commands read from next to their code. */
const DATA = [join(root, 'examples', 'demo.json'), join(root, 'policies.schema.json')];
if (isStale()) build();

/** Completed before it replaces the previous one: a command may be running, and a build may be interrupted. */
function build() {
  const compiler = createRequire(import.meta.url).resolve('typescript/bin/tsc');
  const made = join(`${dist}.new`, String(process.pid));
  execFileSync(process.execPath, [compiler, '-p', folder, '--outDir', made], { stdio: 'inherit' });
  chmodSync(join(made, 'cli', 'src', 'main.js'), 0o755);
  for (const path of DATA) copyFileSync(path, join(made, basename(path)));
  rmSync(dist, { recursive: true, force: true });
  renameSync(made, dist);
  rmSync(`${dist}.new`, { recursive: true, force: true });
}

function isStale() {
  const built = join(dist, basename(DATA[0]));
  if (!existsSync(built)) return true;
  const sources = [folder, join(folder, '..', 'typescript')].flatMap((client) => filesBelow(join(client, 'src')));
  const newest = [...sources, ...DATA, join(folder, 'package-lock.json'), join(folder, 'build.mjs')].map(changedAt);
  return Math.max(...newest) > changedAt(built);
}

/** @param {string} path */
function filesBelow(path) {
  return readdirSync(path, { recursive: true, encoding: 'utf8' }).map((name) => join(path, name));
}

/** @param {string} path */
function changedAt(path) {
  return statSync(path).mtimeMs;
}
