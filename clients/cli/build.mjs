import { chmodSync, copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildPackage, compile } from '../build-package.mjs';
import { copySources } from './copied-sources.mjs';

// The typed client is bundled, so that the package is self-contained.
const folder = fileURLToPath(new URL('.', import.meta.url));
const root = join(folder, '..', '..');
/** Files that commands read from next to their code. */
const DATA = ['examples/demo.json', 'policies.schema.json', 'gateway.schema.json'].map((name) => join(root, name));
/** The time zones of the release, of which gov takes only the names. */
const ZONES = join(folder, 'node_modules', 'moment-timezone', 'data', 'packed', 'latest.json');
const SOURCES = ['src', '../typescript/src', 'tsconfig.json', '../typescript/tsconfig.json', 'package-lock.json'];
const madeFrom = [...DATA, ...[...SOURCES, 'build.mjs', 'copied-sources.mjs'].map((name) => join(folder, name))];

copySources();

await buildPackage(folder, madeFrom, (dist) => {
  if (process.argv.includes('--announce')) console.error('Building gov: this takes up to half a minute.');
  compile(folder, dist);
  chmodSync(join(dist, 'cli', 'src', 'main.js'), 0o755);
  for (const path of DATA) copyFileSync(path, join(dist, basename(path)));
  const { zones, links } = JSON.parse(readFileSync(ZONES, 'utf8'));
  const names = [...zones.map((zone) => zone.split('|')[0]), ...links.map((link) => link.split('|')[1])];
  writeFileSync(join(dist, 'zones.json'), JSON.stringify(names.map((name) => name.toLowerCase()).sort()));
});
