import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { ROOT } from '../documents/markdown';

const PROGRAM = join(ROOT, 'verifier', 'main.mjs');

export interface VerifierRun {
  readonly exitCode: number | null;
  readonly output: string;
  readonly errors: string;
}

/** Runs the offline verifier as a user would, in a process of its own, with a text as its standard input. */
export async function runVerifierProgram(words: readonly string[], input = ''): Promise<VerifierRun> {
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

type Verifier = (words: readonly string[], input: string) => Promise<VerifierRun>;

let verifier: Verifier | undefined;
let previous: Promise<unknown> = Promise.resolve();

/**
 * Runs the offline verifier with a command line, and a text as its standard input. All runs share one process, because
 * starting one takes longer than most runs; it ends with the process of the tests. `--kinds` would also apply to later
 * runs, so it needs {@link runVerifierProgram}.
 */
export function runVerifier(words: readonly string[], input = ''): Promise<VerifierRun> {
  if (words.includes('--kinds')) throw new Error('--kinds needs a process of its own.');
  const ask = (verifier ??= startVerifier());
  const run = previous.then(() => ask(words, input));
  previous = run.catch(() => undefined);
  return run;
}

function startVerifier(): Verifier {
  const child = spawn(process.execPath, [join(__dirname, 'answer-verifier.mjs')], {
    env: {},
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  for (const handle of [child, child.stdin, child.stdout] as { unref?(): void }[]) handle.unref?.();
  return async (words, input) => {
    child.stdin.write(`${JSON.stringify({ words, input })}\n`);
    const answer = await answers.next();
    if (answer.done === true) throw new Error('The verifier ended.');
    return JSON.parse(answer.value) as VerifierRun;
  };
}
