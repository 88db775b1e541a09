import { statSync } from 'node:fs';
import { join } from 'node:path';
import { ensureAlone } from './ensure-alone.mjs';
import { isMain, root, run } from './run.mjs';

const FOLDERS = ['clients/typescript', 'clients/cli', 'clients/frameworks', 'console'];

/**
 * Installs the dependencies of the clients and the console if they are missing or older than the lockfile. They have
 * their own lockfiles: the service does not need them.
 */
export async function ensureClients(folders = FOLDERS, { onInstall } = {}) {
  for (const name of folders) {
    const folder = join(root, name);
    if (isInstalled(folder)) continue;
    onInstall?.();
    await ensureAlone(join(folder, 'install.locks'), () => install(folder));
  }
}

/** Installs the packages of a folder, unless another process has done so meanwhile. */
async function install(folder) {
  if (!isInstalled(folder)) await run('npm', ['ci', '--no-audit', '--no-fund'], { folder, onStandardError: true });
}

/** npm writes its own list last, so after an interrupted install it is missing. */
function isInstalled(folder) {
  const list = statSync(join(folder, 'node_modules', '.package-lock.json'), { throwIfNoEntry: false });
  return list !== undefined && list.mtimeMs >= statSync(join(folder, 'package-lock.json')).mtimeMs;
}

const [, , ...named] = process.argv;
if (isMain(import.meta.url)) await ensureClients(named.length > 0 ? named : FOLDERS);
