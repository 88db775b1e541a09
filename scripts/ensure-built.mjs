/** Compiles src to dist when dist is missing or older than anything it is made from. */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { root, run } from './run.mjs';

const SOURCES = ['src', 'tsconfig.json', 'tsconfig.build.json', 'nest-cli.json', 'package-lock.json'];

/** Milliseconds; 0 when there is no such file. */
function changedAt(path) {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

/** Folders count too: their time tells that a file was removed. */
function newestChangeBelow(path) {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (!stats?.isDirectory()) return stats?.mtimeMs ?? 0;
  return Math.max(stats.mtimeMs, ...readdirSync(path).map((name) => newestChangeBelow(join(path, name))));
}

const builtAt = changedAt(join(root, 'dist', 'main.js'));
if (Math.max(...SOURCES.map((name) => newestChangeBelow(join(root, name)))) > builtAt) {
  console.log('Compiling …');
  await run('npm', ['run', '--silent', 'build']);
}
