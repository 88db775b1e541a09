import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

/**
 * Starts a Node.js program that answers each line of JSON with another, and returns what asks it. One question at a
 * time. The process ends with this one.
 */
export function startAnsweringProcess(words: readonly string[]): (question: unknown) => Promise<unknown> {
  const child = spawn(process.execPath, words, { stdio: ['pipe', 'pipe', 'inherit'] });
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  for (const handle of [child, child.stdin, child.stdout] as { unref?(): void }[]) handle.unref?.();
  return async (question) => {
    child.stdin.write(`${JSON.stringify(question)}\n`);
    const answer = await answers.next();
    if (answer.done === true) throw new Error(`The program ended at the question ${JSON.stringify(question)}`);
    return JSON.parse(answer.value);
  };
}
