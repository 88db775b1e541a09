import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { ROOT } from '../documents/markdown';

const PROGRAM = join(ROOT, 'verifier', 'main.mjs');

export interface VerifierRun {
  readonly exitCode: number | null;
  readonly output: string;
  readonly errors: string;
}

/** Runs the offline verifier as a user would, with a text as its standard input. */
export async function runVerifier(words: readonly string[], input = ''): Promise<VerifierRun> {
  const child = spawn(process.execPath, [PROGRAM, ...words], { env: {}, stdio: 'pipe' });
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  const ended = once(child, 'close');
  const [output, errors] = await Promise.all([
    child.stdout.setEncoding('utf8').toArray(),
    child.stderr.setEncoding('utf8').toArray(),
  ]);
  await ended;
  return { exitCode: child.exitCode, output: output.join(''), errors: errors.join('') };
}
