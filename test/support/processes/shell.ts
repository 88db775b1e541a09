import { spawn } from 'node:child_process';

export interface ProgramRun {
  readonly exitCode: number | null;
  readonly output: string;
  readonly errors: string;
}

/** Runs a program to its end; `input` goes to its standard input, `environment` adds to the process's. */
export function run(
  command: string,
  parameters: readonly string[],
  { input = '', environment = {}, folder }: { input?: string; environment?: NodeJS.ProcessEnv; folder?: string } = {},
): Promise<ProgramRun> {
  return new Promise((resolve, reject) => {
    const program = spawn(command, parameters, { cwd: folder, env: { ...process.env, ...environment } });
    let [output, errors] = ['', ''];
    program.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
    program.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
    program.on('error', reject);
    program.on('close', (exitCode) => resolve({ exitCode, output, errors }));
    // The program may end before it has read its input.
    program.stdin.on('error', () => undefined);
    program.stdin.end(input);
  });
}

const MARK = '--- end of a block ---';

/**
 * Runs blocks of shell commands one after another in one shell, in the given folder, and returns the output of each.
 */
export async function runBlocks(blocks: readonly string[], folder?: string): Promise<string[]> {
  const script = blocks.map((block) => `${block}\necho '${MARK}'\n`).join('');
  const { output, errors } = await run('bash', [], { input: script, ...(folder !== undefined && { folder }) });
  if (errors !== '') throw new Error(`The shell said: ${errors}`);
  return output.split(`${MARK}\n`).slice(0, -1);
}
