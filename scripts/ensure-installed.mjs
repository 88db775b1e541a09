import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ensureSqlite3 } from './ensure-sqlite3.mjs';
import { isMain, root, run, step } from './run.mjs';

/** The packages of a lockfile by their paths; empty without a lockfile, as in a published package. */
function packagesOf(lockfile) {
  try {
    return JSON.parse(readFileSync(join(root, lockfile), 'utf8')).packages;
  } catch {
    return {};
  }
}

/** npm writes its own list last, so after an interrupted install it is missing. Further packages do no harm. */
function isInstalled(withDevelopment) {
  const installed = packagesOf(join('node_modules', '.package-lock.json'));
  const isNeeded = ({ optional, devOptional, peer, dev }) =>
    !optional && !devOptional && !peer && (withDevelopment || !dev);
  return Object.entries(packagesOf('package-lock.json'))
    .filter(([place, locked]) => place !== '' && isNeeded(locked))
    .every(([place, { version, integrity }]) => {
      const found = installed[place];
      return found?.version === version && found.integrity === integrity;
    });
}

/**
 * Installs the dependencies if the installed ones are not those of the lockfile: in a fresh clone, after a pull, or
 * when an install was interrupted. Running compiled files does not need the development packages. What needs no database
 * is done while its driver is compiled.
 */
export async function ensureInstalled({ withDevelopment = true, meanwhile = () => Promise.resolve() } = {}) {
  if (!isInstalled(withDevelopment)) {
    const groups = withDevelopment ? ['--include=dev'] : ['--omit=dev'];
    await step('Installing the packages of the lockfile', () =>
      run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error', ...groups]),
    );
  }
  await Promise.all([ensureSqlite3(), meanwhile()]);
}

if (isMain(import.meta.url)) await ensureInstalled();
