import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** Fields of /proc/<pid>/stat after the name in brackets, counted from 0: user and system time in clock ticks. */
const USER_TIME = 11;
const SYSTEM_TIME = 12;

let ticksPerSecond: number | null = null;

/** Returns the processor time of a process, all its threads together, in seconds; NaN without /proc. */
export function processorSeconds(processId: number): number {
  try {
    const text = readFileSync(`/proc/${processId}/stat`, 'utf8');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    ticksPerSecond ??= Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));
    return (Number(fields[USER_TIME]) + Number(fields[SYSTEM_TIME])) / ticksPerSecond;
  } catch {
    return Number.NaN;
  }
}

/** Returns the memory of a process (resident set), in bytes; NaN without /proc. */
export function residentBytes(processId: number): number {
  try {
    const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${processId}/status`, 'utf8'))?.[1];
    return Number(kilobytes) * 1024;
  } catch {
    return Number.NaN;
  }
}
