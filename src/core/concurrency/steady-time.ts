import { uptime } from 'node:os';

/** Milliseconds of a clock that cannot be set, and runs while the machine sleeps. */
export function steadyTime(): number {
  return uptime() * 1_000;
}
