/**
 * Runs the named Jest projects. Prints what each needs besides Node.js, and installs and builds the programs that they
 * start. Tests that lack something are skipped and say so; with CI=true they fail.
 */
import { join } from 'node:path';
import { ensureBuilt } from './ensure-built.mjs';
import { ensureClients } from './ensure-clients.mjs';
import { ensureInstalled } from './ensure-installed.mjs';
import { root, run } from './run.mjs';

/**
 * Options of Node.js. Test programs load much code and run little of it: a larger young generation saves a tenth of
 * their processor time.
 */
const YOUNG_GENERATION = ['--min-semi-space-size=32', '--max-semi-space-size=64'];
const JEST = join(root, 'node_modules', 'jest', 'bin', 'jest.js');

const NEEDS = {
  postgres: 'PostgreSQL at 127.0.0.1:5432 (user postgres, database test), its programs, and Redis at 127.0.0.1:6379',
  faults: 'Linux, PostgreSQL as above, nginx, redis-server, a C compiler, and the right to mount a tmpfs',
  console: 'Chromium or its headless shell, on the path or at CHROMIUM_PATH',
  clients: 'bash, curl, openssl, script, Python 3, nginx and caddy',
};

const projects = process.argv.slice(2);
const demanding = projects.filter((project) => project in NEEDS);
for (const project of demanding) console.log(`The tests "${project}" need ${NEEDS[project]}.`);
await ensureInstalled();
await Promise.all([ensureBuilt(), demanding.length === 0 ? undefined : ensureClients()]);
await run(process.execPath, [...YOUNG_GENERATION, JEST, '--selectProjects', ...projects]);
