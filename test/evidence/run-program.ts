import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { API_KEY } from '../support/application/api-key';

const run = promisify(execFile);
const MOST_OUTPUT = 64 * 2 ** 20;

/** Runs a program, one of this folder's if it has no path, against a service, and returns what it prints. */
export async function runProgram(name: string, url: string, ...words: readonly string[]): Promise<string> {
  const { stdout } = await run(process.execPath, [resolve(__dirname, `${name}.mjs`), ...words], {
    env: { API: url, API_KEY },
    maxBuffer: MOST_OUTPUT,
  });
  return stdout;
}
