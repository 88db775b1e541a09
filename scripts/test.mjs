/**
 * Runs the Jest projects that are named, which need more than Node.js: says what each needs, and prepares what it starts.
 * Tests that miss something are skipped and say so; with CI=true they fail.
 */
import { ensureBuilt } from './ensure-built.mjs';
import { ensureClients } from './ensure-clients.mjs';
import { ensureInstalled } from './ensure-installed.mjs';
import { run } from './run.mjs';

const NEEDS = {
  postgres: 'PostgreSQL at 127.0.0.1:5432 (user postgres, database test), its programs, and Redis at 127.0.0.1:6379',
  faults: 'Linux, PostgreSQL as above, nginx, redis-server, a C compiler, and the right to mount a tmpfs',
  console: 'Chromium, on the path or at CHROMIUM_PATH',
  clients: 'bash, curl, openssl, script, Python 3, nginx and caddy',
};

const projects = process.argv.slice(2);
for (const project of projects) console.log(`The tests "${project}" need ${NEEDS[project]}.`);
await ensureInstalled();
await Promise.all([ensureBuilt(), ensureClients()]);
await run('npx', ['jest', '--selectProjects', ...projects]);
