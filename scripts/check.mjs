/**
 * Installs the packages that tests need, makes every check of the sources that does not run them, and builds the
 * service. The linter checks types as well.
 */
import { ensureClients } from './ensure-clients.mjs';
import { ensureInstalled } from './ensure-installed.mjs';
import { run, step } from './run.mjs';

const script = (name) => run('npm', ['run', '--silent', name], { quiet: true });

async function check() {
  // The linter checks the types of the clients, too.
  await ensureClients();
  const buildAndFormat = async () => {
    await script('build');
    await script('format:check');
  };
  await step('Checking format, lint and types, and building', () => Promise.all([script('lint'), buildAndFormat()]));
}

await ensureInstalled({ meanwhile: check });
console.log('Format, lint and types are right; the service is built.');
