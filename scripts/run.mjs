import { spawn } from 'node:child_process';
import { realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The project's folder. */
export const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** True if a module is the program that was started, not imported by another. */
export function isMain(moduleUrl) {
  const program = process.argv[1];
  return program !== undefined && realpathSync(program) === fileURLToPath(moduleUrl);
}

/**
 * Returns the path of the TypeScript compiler that is installed in a folder. In this project its package is
 * `typescript-7`.
 */
export function compilerOf(folder = root, name = folder === root ? 'typescript-7' : 'typescript') {
  const description = createRequire(join(folder, 'package.json')).resolve(`${name}/package.json`);
  return join(dirname(description), 'bin', 'tsc');
}

const FORWARDED_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/** Milliseconds after which a step that is still under way says so. */
const SILENCE = 9_000;

/**
 * Prints the seconds of a step on standard error when it has ended, and while it lasts: what follows may print data.
 */
export async function step(name, work) {
  const begun = performance.now();
  const seconds = () => Math.round((performance.now() - begun) / 1000);
  const waiting = setInterval(() => console.error(`${name} … ${seconds()} s`), SILENCE);
  try {
    return await work();
  } finally {
    clearInterval(waiting);
    console.error(`${name}: ${seconds()} s`);
  }
}

/**
 * Runs a command to its end, in the project's folder or another. A signal that ends this process ends the command too,
 * so nothing is left behind. If the command fails, the process exits with 1 and prints `onFailure`. With `quiet` the
 * command's output is shown only then. With `onStandardError` all output goes to standard error, and the command gets
 * no input.
 */
export async function run(command, args, { onFailure = '', ...options } = {}) {
  const { failure, output } = await result(command, args, options);
  if (failure === null) return;
  process.stderr.write(output);
  console.error(`"${[command, ...args].join(' ')}" failed: ${failure}. ${onFailure}`.trimEnd());
  process.exit(1);
}

/** Runs a command that may fail, without showing its output. True if it succeeds. */
export async function succeeds(command, args, options = {}) {
  const { failure } = await result(command, args, { ...options, quiet: true });
  return failure === null;
}

async function result(command, args, { folder = root, quiet = false, onStandardError = false, environment = {} }) {
  const shown = onStandardError ? ['ignore', 2, 2] : 'inherit';
  const child = spawn(command, args, {
    cwd: folder,
    env: { ...process.env, ...environment },
    stdio: quiet ? ['ignore', 'pipe', 'pipe'] : shown,
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
  return { failure, output: Buffer.concat(output) };
}
