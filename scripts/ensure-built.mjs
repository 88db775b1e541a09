import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { ensureInstalled } from './ensure-installed.mjs';
import { isMain, root, run } from './run.mjs';

const SOURCES = ['src', 'tsconfig.json', 'tsconfig.build.json', 'package-lock.json'];

/** Milliseconds; 0 if the file does not exist. */
function changedAt(path) {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

/** Includes folders: their time shows that a file was removed. */
function newestChangeBelow(path) {
  const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
  const below = isFolder ? readdirSync(path).map((name) => newestChangeBelow(join(path, name))) : [];
  return Math.max(changedAt(path), ...below);
}

function isBuilt() {
  const newestChange = Math.max(...SOURCES.map((name) => newestChangeBelow(join(root, name))));
  return newestChange <= changedAt(join(root, 'dist', 'main.js'));
}

/** Compiles src to dist if dist is missing or older than its sources; installs what the build or a start needs. */
export async function ensureBuilt() {
  const mustBuild = !isBuilt();
  await ensureInstalled({ withDevelopment: mustBuild });
  if (!mustBuild) return;
  console.log('Compiling …');
  await run('npm', ['run', '--silent', 'build']);
}

if (isMain(import.meta.url)) await ensureBuilt();
