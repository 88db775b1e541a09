import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const PROGRAM = join(__dirname, 'check-databases.mjs');

/** The offline verifier's check of a database, in a process that remains: for tests that need it hundreds of times. */
export interface LastingVerifier {
  /** The number of faults in the database; null if it cannot be read. Called again only after its answer. */
  faults(path: string): Promise<number | null>;
  stop(): Promise<void>;
}

export function startLastingVerifier(): LastingVerifier {
  const child = spawn(process.execPath, [PROGRAM], { env: {}, stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(child, 'close');
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    faults: async (path) => {
      child.stdin.write(`${path}\n`);
      const answer = await answers.next();
      if (answer.done === true) throw new Error('The verifier ended.');
      return JSON.parse(answer.value) as number | null;
    },
    stop: async () => {
      child.stdin.end();
      await ended;
    },
  };
}
