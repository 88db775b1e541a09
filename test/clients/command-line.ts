import { join } from 'node:path';
import { ROOT } from '../support/documents/markdown';
import { run, type ProgramRun } from '../support/processes/shell';

const FOLDER = join(ROOT, 'clients', 'cli');
/** The program. */
export const MAIN = join(FOLDER, 'dist', 'cli', 'src', 'main.js');

/** Builds the command line as its users get it, if it has changed. */
export async function buildCommandLine(): Promise<void> {
  const built = await run('npm', ['run', '--silent', 'build'], { folder: FOLDER });
  // Another file may be building it.
  const errors = built.errors.replace(/^Waiting for the process .*\n/m, '');
  expect({ ...built, errors }).toMatchObject({ exitCode: 0, errors: '' });
}

/** Runs `gov` with these arguments. */
export function gov(
  words: readonly string[],
  { environment, input, folder }: { environment: NodeJS.ProcessEnv; input?: string; folder?: string },
): Promise<ProgramRun> {
  return run(process.execPath, [MAIN, ...words], {
    environment,
    ...(input === undefined ? {} : { input }),
    ...(folder === undefined ? {} : { folder }),
  });
}
