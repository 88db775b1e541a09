import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { Workplace } from '../support/workplace';

/** Milliseconds in which strace attaches to every thread. */
const ATTACHING = 1_000;
const CALLS = ['fsync', 'fdatasync', 'msync', 'sync_file_range'];
// If another thread's call interrupts a call in the output, its second line has no "(", and so is not counted.
const CALL = new RegExp(`\\b(?:${CALLS.join('|')})\\(`, 'g');

/** Watches, by strace, the system calls of all threads of a process that wait for the disk. */
export class SyncTrace {
  private constructor(
    private readonly strace: ChildProcess,
    private readonly output: string,
  ) {}

  /** Traces a process; null if strace is missing or may not trace. */
  static async start(workplace: Workplace, processId: number): Promise<SyncTrace | null> {
    const output = workplace.path('syncs.txt');
    const filter = `trace=${CALLS.join()}`;
    const strace = spawn('strace', ['-f', '-qq', '-e', filter, '-o', output, '-p', String(processId)], {
      stdio: 'ignore',
    });
    const failure = new Promise<true>((resolve) => {
      strace.once('error', () => resolve(true)).once('exit', () => resolve(true));
    });
    if ((await Promise.race([delay(ATTACHING), failure])) === true) return null;
    return workplace.add(new SyncTrace(strace, output));
  }

  /** The number of calls so far. */
  get calls(): number {
    return readFileSync(this.output, 'utf8').match(CALL)?.length ?? 0;
  }

  async stop(): Promise<void> {
    if (this.strace.exitCode !== null || this.strace.signalCode !== null) return;
    this.strace.kill('SIGINT');
    await once(this.strace, 'exit');
  }
}
