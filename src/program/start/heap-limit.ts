import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** Limits as in `npm start`. */
const HEAP_FLAGS = ['--max-semi-space-size=32', '--max-old-space-size=512'];
/**
 * Settings of glibc, which reads them when a process begins: it gives freed memory back to the system, and does not
 * wait long for name servers.
 */
const GLIBC_SETTINGS = {
  MALLOC_ARENA_MAX: '2',
  MALLOC_MMAP_THRESHOLD_: '524288',
  MALLOC_TRIM_THRESHOLD_: '8388608',
  RES_OPTIONS: 'timeout:2 attempts:2',
};

const FORWARDED_SIGNALS: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/** True if a heap limit was set for this process. */
export function hasHeapLimit(): boolean {
  const flags = [...process.execArgv, process.env['NODE_OPTIONS'] ?? ''].join(' ');
  return /--max[-_]old[-_]space[-_]size/.test(flags);
}

/**
 * Runs a program in a process with the usual limits. This process passes signals on, and ends with the same code or
 * signal.
 */
export async function runWithHeapLimit(main: string, words: readonly string[]): Promise<void> {
  const program = spawn(process.execPath, [...process.execArgv, ...HEAP_FLAGS, main, ...words], {
    env: { ...GLIBC_SETTINGS, ...process.env },
    stdio: 'inherit',
  });
  for (const signal of FORWARDED_SIGNALS)
    process.on(signal, () => program.kill(signal === 'SIGHUP' ? 'SIGTERM' : signal));
  const [exitCode] = (await once(program, 'close')) as [number | null];
  process.exitCode = exitCode ?? 1;
}
