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

const QUIETLY = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];

/**
 * Installs the dependencies if the installed ones are not those of the lockfile: in a fresh clone, after a pull, or
 * when an install was interrupted. Running compiled files does not need the development packages. The database's driver
 * may have to be compiled; work that does not need it can be done `meanwhile`.
 */
export async function ensureInstalled({ withDevelopment = true, meanwhile = null } = {}) {
  if (!isInstalled(withDevelopment)) {
    const [what, group] = withDevelopment ? ['of the lockfile', '--include=dev'] : ['that run', '--omit=dev'];
    await step(`Installing the packages ${what}`, () => run('npm', ['ci', ...QUIETLY, group]));
  }
  await Promise.all([ensureSqlite3(), meanwhile?.()]);
}

/**
 * Does the same for a start that compiles the sources first. The database's driver is compiled as soon as the
 * production packages are installed. Meanwhile the development packages are added, and the sources compiled.
 */
export async function ensureInstalledAnd(build) {
  const compile = async () => {
    if (!isInstalled(true)) {
      // Adds the missing packages of the lockfile, and does not change the lockfile.
      const others = ['install', '--no-save', ...QUIETLY, '--include=dev'];
      await step('Installing the packages that compile and test', () => run('npm', others));
    }
    await build();
  };
  await ensureInstalled({ withDevelopment: false, meanwhile: compile });
}

if (isMain(import.meta.url)) await ensureInstalled();
