/** All that looks at the sources without running them, and the build: the linter takes as long as the rest together. */
import { run } from './run.mjs';

const script = (name) => run('npm', ['run', '--silent', name], { quiet: true });

async function inTurn(...names) {
  for (const name of names) await script(name);
}

await Promise.all([script('lint'), inTurn('build', 'type-check', 'format:check')]);
console.log('Format, lint and types are right; the service is built.');
