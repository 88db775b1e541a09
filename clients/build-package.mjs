import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, renameSync, rmSync, statSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { ensureAlone } from '../scripts/ensure-alone.mjs';
import { compilerOf } from '../scripts/run.mjs';

/**
 * Makes the package's `dist` if that is older than what it is made from: files, and folders with all that they contain.
 * One process does so at a time, and `dist` is replaced when the new one is complete: commands and tests may be using
 * it.
 */
export async function buildPackage(folder, madeFrom, make) {
  const [dist, draft, old] = ['dist', 'dist.new', 'dist.old'].map((name) => join(folder, name));
  const isFresh = () => existsSync(dist) && changedAt(dist) >= newestChange(madeFrom);
  // This check comes before the lock, which a read-only folder cannot have.
  if (isFresh()) return;
  await ensureAlone(join(folder, 'dist.locks'), () => {
    // Another process may have made it meanwhile.
    if (isFresh()) return;
    // A killed build may have left these folders.
    for (const path of [draft, old]) rmSync(path, { recursive: true, force: true });
    const begun = new Date();
    make(draft);
    // A source that changes during the build is newer than its result.
    utimesSync(draft, begun, begun);
    if (existsSync(dist)) renameSync(dist, old);
    renameSync(draft, dist);
    rmSync(old, { recursive: true, force: true });
  });
}

/** Runs the compiler of a package. */
export function compile(folder, target, options = []) {
  execFileSync(process.execPath, [compilerOf(folder), '-p', folder, '--outDir', target, ...options], {
    stdio: 'inherit',
  });
}

/**
 * Returns the time of the newest change, in milliseconds. Folders count, because only their time shows that a file was
 * removed.
 */
function newestChange(paths) {
  const below = paths.flatMap((path) =>
    statSync(path).isDirectory() ? readdirSync(path, { recursive: true }).map((name) => join(path, name)) : [],
  );
  return Math.max(...[...paths, ...below].map(changedAt));
}

function changedAt(path) {
  return statSync(path).mtimeMs;
}
