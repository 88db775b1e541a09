/**
 * Makes sure that the native driver loads. The prebuilt binary of sqlite3 requires glibc 2.38; if it does not load, as
 * on Debian 12, the driver is built from source. Does nothing when it loads. Runs after every install.
 */
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { isMain, root, run } from './run.mjs';

const NEEDED_TOOLS = 'Building it needs Python 3, make and a C++ compiler (Debian: apt-get install python3 make g++).';

/** Why the driver does not load, in one line; null if it does. In a separate process, since a failed load is cached. */
export function whySqlite3DoesNotLoad() {
  const attempt = spawnSync(process.execPath, ['-e', 'require("sqlite3")'], { cwd: root, encoding: 'utf8' });
  if (attempt.status === 0) return null;
  return /^(?:\w*Error): (.*)$/m.exec(attempt.stderr)?.[1] ?? 'unknown reason';
}

/** Throws when the driver neither loads nor can be built. */
export async function ensureSqlite3() {
  const reason = whySqlite3DoesNotLoad();
  if (reason === null) return;
  console.log(`The prebuilt sqlite3 binary does not load here (${reason}).`);
  console.log('Building it from source instead; this takes about a minute.');
  const folder = dirname(createRequire(import.meta.url).resolve('sqlite3/package.json'));
  await run('npm', ['run', 'rebuild'], { folder, quiet: true, onFailure: NEEDED_TOOLS });
  const stillFailing = whySqlite3DoesNotLoad();
  if (stillFailing !== null) throw new Error(`sqlite3 was built but does not load: ${stillFailing}`);
}

if (isMain(import.meta.url)) await ensureSqlite3();
