/**
 * Makes sure that the native driver loads. The prebuilt binary of sqlite3 requires glibc 2.38; if it does not load, as
 * on Debian 12, the driver is built from source. Does nothing when it loads. Runs after every install.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { isMain, root, run, step, succeeds } from './run.mjs';

/**
 * With these flags SQLite compiles in half the time of -O2, and requests cost the same (POST, GET and lists, measured
 * in turns: within 3 %). They leave out features that the service does not use (full-text search, page statistics),
 * which would take another quarter of the time.
 */
const COMPILER_FLAGS = [
  '-O1',
  '-finline-small-functions',
  '-w',
  ...['FTS3', 'FTS4', 'FTS5', 'DBSTAT_VTAB'].map((feature) => `-USQLITE_ENABLE_${feature}`),
].join(' ');

const NEEDED_TOOLS =
  'Building it needs Python 3, make and a C++ compiler (Debian: apt-get install python3 make g++), and the headers of Node.js: ' +
  'they are fetched from nodejs.org, unless npm_config_nodedir names a folder whose include/node has them.';

/**
 * Returns, in one line, the reason for which the driver does not load; null if it loads. Another process loads it,
 * since a failed load is cached.
 */
export function whySqlite3DoesNotLoad() {
  const attempt = spawnSync(process.execPath, ['-e', 'require("sqlite3")'], { cwd: root, encoding: 'utf8' });
  if (attempt.status === 0) return null;
  return /^(?:\w*Error): (.*)$/m.exec(attempt.stderr)?.[1] ?? 'unknown reason';
}

/**
 * Fetches the prebuilt driver if there is none, and compiles the driver if the prebuilt one does not load. Throws if
 * the driver neither loads nor can be compiled.
 */
export async function ensureSqlite3() {
  if (whySqlite3DoesNotLoad() === null) return;
  const folder = dirname(createRequire(import.meta.url).resolve('sqlite3/package.json'));
  const built = join(folder, 'build', 'Release', 'node_sqlite3.node');
  if (!existsSync(built)) {
    const fetcher = createRequire(join(folder, 'package.json')).resolve('prebuild-install/bin.js');
    await step('Fetching the prebuilt SQLite driver', () =>
      succeeds(process.execPath, [fetcher, '-r', 'napi'], { folder }),
    );
  }
  if (whySqlite3DoesNotLoad() === null) return;
  console.error(
    'The prebuilt SQLite driver does not load on this system, so it is compiled from source: that takes a minute or two.',
  );
  await step('Compiling the SQLite driver', () =>
    run('npm', ['run', 'rebuild'], {
      folder,
      quiet: true,
      environment: { JOBS: 'max', CFLAGS: `${process.env['CFLAGS'] ?? ''} ${COMPILER_FLAGS}` },
      onFailure: NEEDED_TOOLS,
    }),
  );
  const stillFailing = whySqlite3DoesNotLoad();
  if (stillFailing !== null) throw new Error(`sqlite3 was built but does not load: ${stillFailing}`);
}

if (isMain(import.meta.url)) await ensureSqlite3();
