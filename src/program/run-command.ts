import * as modules from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type * as start from './start/start-service';
import { hasHeapLimit, runWithHeapLimit } from './start/heap-limit';

const load = modules.createRequire(__filename);
const PACKAGE = join(__dirname, '..', '..');
const VERIFIER = pathToFileURL(join(PACKAGE, 'verifier', 'main.mjs')).href;
/** Keeps compiled code in a folder, if that can be written. Node.js 20 has no such function. */
const { enableCompileCache } = modules as { readonly enableCompileCache?: (folder: string) => unknown };
/**
 * Folder of compiled code. It is inside the package, because whoever can write to it decides which code the next start
 * runs.
 */
const COMPILE_CACHE = join(PACKAGE, '.compile-cache');

/** Exit code of a command line that names no command. */
const MISUSED = 2;

const USAGE = `Usage: agent-governance <command>

  start            runs the service, in the current folder
  verify <file>    verifies an export, a decision file or a SQLite database without the service
  backup <file>    writes the SQLite database to a new file, while the service may run
  compact          rewrites the SQLite database, so that nothing deleted is left in its file
  move --to <url>  copies the SQLite database of a stopped service to an empty PostgreSQL database

Settings come from the environment and from .env in the current folder.
`;

/** The programs behind the commands: each reads its words from `process.argv`. */
const PROGRAMS: Readonly<Record<string, () => void>> = {
  verify: () => void import(VERIFIER),
  backup: () => void load('./backup/main'),
  compact: () => void load('./compact/main'),
  move: () => void load('./move/main'),
};

/** Runs the command that the first word names; without a word, the service. @param main file of this program */
export function runCommand([command, ...words]: readonly string[], main: string): void {
  if (command === undefined || (command === 'start' && words.length === 0)) {
    startHere(command, main);
    return;
  }
  const program = Object.hasOwn(PROGRAMS, command) ? PROGRAMS[command] : undefined;
  if (program === undefined) {
    explain(command);
    return;
  }
  process.argv.splice(2, 1);
  program();
}

/**
 * Starts the command here if the process has heap limits, as from `npm start` or the image; otherwise in a process with
 * such limits.
 */
function startHere(command: string | undefined, main: string): void {
  if (command !== undefined && !hasHeapLimit()) {
    void runWithHeapLimit(main, [command]);
    return;
  }
  enableCompileCache?.(COMPILE_CACHE);
  const { startService } = load('./start/start-service') as typeof start;
  void startService();
}

function explain(command: string): void {
  if (['help', '--help', '-h'].includes(command)) {
    process.stdout.write(USAGE);
    return;
  }
  const fault =
    command === 'start' ? 'start takes no words: it reads its settings.' : `There is no command ${command}.`;
  process.stderr.write(`${fault}\n\n${USAGE}`);
  process.exitCode = MISUSED;
}
