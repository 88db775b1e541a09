import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ensureInstalled } from './ensure-installed.mjs';
import { ensureSqlite3 } from './ensure-sqlite3.mjs';
import { isMain, root } from './run.mjs';

/**
 * Makes sure that there is a driver for programs that run next to a running service. Packages are installed only if the
 * driver is missing: npm would first remove the packages that the service still loads from.
 */
export async function ensureDriver() {
  const isThere = existsSync(join(root, 'node_modules', 'sqlite3', 'package.json'));
  await (isThere ? ensureSqlite3() : ensureInstalled({ withDevelopment: false }));
}

if (isMain(import.meta.url)) await ensureDriver();
