/** Every check of the sources that does not run them, and the build. The linter checks types as well. */
import { run } from './run.mjs';

const script = (name) => run('npm', ['run', '--silent', name], { quiet: true });

async function inTurn(...names) {
  for (const name of names) await script(name);
}

await Promise.all([script('lint'), inTurn('build', 'format:check')]);
console.log('Format, lint and types are right; the service is built.');
