import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ensureInstalled } from './ensure-installed.mjs';
import { ensureSqlite3 } from './ensure-sqlite3.mjs';
import { isMain, root } from './run.mjs';

/**
 * For programs that run next to a running service: to install other packages, npm would first remove those that the service
 * still loads from. So packages are installed only if there is no driver.
 */
export async function ensureDriver() {
  const isThere = existsSync(join(root, 'node_modules', 'sqlite3', 'package.json'));
  await (isThere ? ensureSqlite3() : ensureInstalled({ withDevelopment: false }));
}

if (isMain(import.meta.url)) await ensureDriver();
