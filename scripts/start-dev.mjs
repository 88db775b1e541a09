/**
 * Compiles src whenever it changes, and restarts the service each time. Ends when the compiler or the service ends, or
 * on a signal.
 */
import { spawn } from 'node:child_process';
import { ensureBuilt } from './ensure-built.mjs';
import { compilerOf, root } from './run.mjs';

await ensureBuilt();
const start = (parameters) => spawn(process.execPath, parameters, { cwd: root, stdio: 'inherit' });
const programs = [
  start([compilerOf(), '-p', 'tsconfig.build.json', '--watch', '--preserveWatchOutput']),
  start(['--watch', 'dist/main.js']),
];
const stop = (signal) => programs.forEach((program) => program.kill(signal));
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, stop);
for (const program of programs) program.on('exit', () => stop('SIGTERM'));
