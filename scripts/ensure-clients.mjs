import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { isMain, root, run } from './run.mjs';

const FOLDERS = ['clients/typescript', 'clients/cli', 'console'];

/** Installs what the clients and the console are made with, where it is missing. They have lockfiles of their own: the service needs none of it. */
export async function ensureClients(folders = FOLDERS) {
  for (const name of folders) {
    const folder = join(root, name);
    if (!existsSync(join(folder, 'node_modules'))) await run('npm', ['ci', '--no-audit', '--no-fund'], { folder });
  }
}

if (isMain(import.meta.url)) await ensureClients();
