import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { ensureClients } from './ensure-clients.mjs';
import { root, run } from './run.mjs';

// The command line has dependencies of its own, which an install of the service does not include: they are installed at
// first use, and it is rebuilt when it has changed.
const folder = join(root, 'clients', 'cli');
const main = join(folder, 'dist', 'cli', 'src', 'main.js');

await ensureClients(['clients/cli']);
await run('npm', ['run', '--silent', 'build'], { folder });
process.exitCode = spawnSync(process.execPath, [main, ...process.argv.slice(2)], { stdio: 'inherit' }).status ?? 1;
