import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { ensureInstalled, ensureInstalledAnd } from './ensure-installed.mjs';
import { isMain, root, run, step } from './run.mjs';

const SOURCES = ['src', 'tsconfig.json', 'tsconfig.build.json', 'package-lock.json'];

/** Returns the time of the last change in milliseconds; 0 if the file does not exist. */
function changedAt(path) {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

/**
 * Returns the time of the newest change of a file or folder, and below it. The time of a folder shows that a file was
 * removed.
 */
function newestChangeBelow(path) {
  const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
  const below = isFolder ? readdirSync(path).map((name) => newestChangeBelow(join(path, name))) : [];
  return Math.max(changedAt(path), ...below);
}

function isBuilt() {
  const newestChange = Math.max(...SOURCES.map((name) => newestChangeBelow(join(root, name))));
  return newestChange <= changedAt(join(root, 'dist', 'main.js'));
}

/**
 * Compiles src to dist if dist is missing or older than its sources; installs the packages that the build or a start
 * needs.
 */
export async function ensureBuilt() {
  if (isBuilt()) return ensureInstalled({ withDevelopment: false });
  const build = () => step('Compiling the sources', () => run('npm', ['run', '--silent', 'build']));
  await ensureInstalledAnd(build);
}

if (isMain(import.meta.url)) await ensureBuilt();
