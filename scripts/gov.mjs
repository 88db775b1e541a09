import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { ensureClients } from './ensure-clients.mjs';
import { root, run } from './run.mjs';

// The command line has dependencies of its own, which an install of the service does not include: they are installed at
// first use, and it is rebuilt when it has changed. Standard output has only what gov prints, for pipes and protocols.
const folder = join(root, 'clients', 'cli');
const main = join(folder, 'dist', 'cli', 'src', 'main.js');

let isAnnounced = false;
await ensureClients(['clients/cli'], {
  onInstall: () => {
    isAnnounced = true;
    console.error('Installing and building gov for its first use: this takes up to a minute.');
  },
});
await run('npm', ['run', '--silent', 'build', ...(isAnnounced ? [] : ['--', '--announce'])], {
  folder,
  onStandardError: true,
});
// npm starts scripts in the project's folder, but the user's paths are relative to the user's folder.
const { INIT_CWD: cwd } = process.env;
process.exitCode = spawnSync(process.execPath, [main, ...process.argv.slice(2)], { cwd, stdio: 'inherit' }).status ?? 1;
