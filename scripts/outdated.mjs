/**
 * Compares the dependencies with the newest versions in the registry, and with docs/dependencies.md, which gives the
 * newest version of each, and the reason if ours is another. Exits with 1 if that page is out of date.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './run.mjs';

const PAGE = 'docs/dependencies.md';

/** Such as ``| `pg` | 8.23.1 | PostgreSQL |``, or with `8.24.0: why ours is another` in the middle. */
const ROW = /^\| `(?<name>\S+)` \| (?<newest>\d[^\s:|]*)(?:: (?<reason>[^|]+))? \| [^|]+ \|$/gm;

const { dependencies, devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const rows = new Map(
  [...readFileSync(join(root, PAGE), 'utf8').matchAll(ROW)].map(({ groups }) => [groups.name, groups]),
);
const behind = outdated();

const faults = [];
for (const [name, wanted] of Object.entries({ ...dependencies, ...devDependencies })) {
  const ours = wanted.slice(wanted.lastIndexOf('@') + 1);
  const newest = behind[name]?.latest ?? ours;
  const row = rows.get(name);
  if (newest !== ours) console.log(`${name} ${ours}, newest ${newest}: ${row?.reason ?? 'no reason given'}`);
  if (row === undefined) faults.push(`${name}: has no row with its newest version, ${newest}.`);
  else if (row.newest !== newest) faults.push(`${name}: the newest is ${newest}, not ${row.newest}.`);
  else if (newest !== ours && row.reason === undefined)
    faults.push(`${name}: ours is ${ours}, and no reason is given.`);
  else if (newest === ours && row.reason !== undefined) faults.push(`${name}: is the newest, and needs no reason.`);
}
for (const fault of faults) console.error(`${PAGE}: ${fault}`);
process.exitCode = faults.length === 0 ? 0 : 1;

/**
 * Returns, by name, the dependencies whose newest version is not ours. @throws Error if the registry does not answer
 */
function outdated() {
  const { stdout, stderr } = spawnSync('npm', ['outdated', '--json'], { cwd: root, encoding: 'utf8' });
  const found = stdout === '' ? { error: { summary: stderr } } : JSON.parse(stdout);
  if ('error' in found) throw new Error(`npm outdated failed: ${found.error.summary}`);
  return found;
}
