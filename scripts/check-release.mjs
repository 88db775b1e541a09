/**
 * Fails unless a tag names the version of every package of this repository. Its argument is the tag, such as v0.1.0.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './run.mjs';

const MANIFESTS = ['.', 'clients/typescript', 'clients/cli', 'clients/frameworks'].map((folder) =>
  join(folder, 'package.json'),
);

function read(file) {
  return readFileSync(join(root, file), 'utf8');
}

const [tag = ''] = process.argv.slice(2);
const python = 'clients/python/pyproject.toml';
const versions = new Map([
  ...MANIFESTS.map((file) => [file, JSON.parse(read(file)).version]),
  [python, /^version = "(.+)"$/m.exec(read(python))?.[1]],
]);
const others = [...versions].filter(([, version]) => `v${version}` !== tag);
for (const [file, version] of others)
  console.error(`${file} has the version ${version}, and the tag is ${tag || 'missing'}.`);
if (!read('CHANGELOG.md').includes(`\n## ${tag.slice(1)}\n`)) {
  console.error(`CHANGELOG.md has no section ${tag.slice(1)}.`);
  process.exitCode = 1;
}
if (others.length > 0) process.exitCode = 1;
