import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { isMain, root, run } from './run.mjs';
import { ensureSqlite3 } from './ensure-sqlite3.mjs';

/** Installs the dependencies from the lockfile when they are missing, so that a fresh clone starts with one command. */
export async function ensureInstalled() {
  if (!existsSync(join(root, 'node_modules', 'sqlite3'))) {
    console.log('Installing the dependencies from the lockfile. It takes some minutes, but the first time only …');
    await run('npm', ['ci', '--no-audit', '--no-fund']);
  }
  await ensureSqlite3();
}

if (isMain(import.meta.url)) await ensureInstalled();
