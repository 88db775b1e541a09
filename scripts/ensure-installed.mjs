/** Installs the dependencies from the lockfile when they are missing, so that a fresh clone starts with one command. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ensureSqlite3 } from './ensure-sqlite3.mjs';
import { root, run } from './run.mjs';

if (!existsSync(join(root, 'node_modules', 'sqlite3'))) {
  console.log('Installing the dependencies from the lockfile (only the first time) …');
  await run('npm', ['ci', '--no-audit', '--no-fund']);
}
await ensureSqlite3();
