import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { isMain, root, run } from './run.mjs';

const CLIENTS = ['typescript', 'cli'];

/** Installs what the clients are made with, where it is missing. They have lockfiles of their own: the service needs none of it. */
export async function ensureClients(names = CLIENTS) {
  for (const name of names) {
    const folder = join(root, 'clients', name);
    if (!existsSync(join(folder, 'node_modules'))) await run('npm', ['ci', '--no-audit', '--no-fund'], { folder });
  }
}

if (isMain(import.meta.url)) await ensureClients();
