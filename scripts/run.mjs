import { spawn } from 'node:child_process';
import { realpathSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The project's folder. */
export const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** Whether a module is the program that was started, not imported by another. */
export function isMain(moduleUrl) {
  const program = process.argv[1];
  return program !== undefined && realpathSync(program) === fileURLToPath(moduleUrl);
}

const FORWARDED_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/**
 * Runs a command to its end, in the project's folder or another. A signal that ends this process ends the command too,
 * so nothing is left behind. On failure the process exits with 1; with `quiet` the command's output is shown only then,
 * followed by `onFailure`.
 */
export async function run(command, args, { folder = root, quiet = false, onFailure = '' } = {}) {
  const child = spawn(command, args, {
    cwd: folder,
    stdio: quiet ? ['ignore', 'pipe', 'pipe'] : 'inherit',
    shell: process.platform === 'win32',
  });
  const output = [];
  child.stdout?.on('data', (chunk) => output.push(chunk));
  child.stderr?.on('data', (chunk) => output.push(chunk));
  const forward = (signal) => child.kill(signal);
  for (const signal of FORWARDED_SIGNALS) process.on(signal, forward);
  const failure = await new Promise((resolve) => {
    child.on('error', (error) => resolve(error.message));
    child.on('close', (code, signal) => resolve(code === 0 ? null : `it ended with ${signal ?? `exit code ${code}`}`));
  });
  for (const signal of FORWARDED_SIGNALS) process.off(signal, forward);
  if (failure === null) return;
  process.stderr.write(Buffer.concat(output));
  console.error(`"${[command, ...args].join(' ')}" failed: ${failure}. ${onFailure}`.trimEnd());
  process.exit(1);
}
