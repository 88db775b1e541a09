/** What two clocks showed at one moment, in milliseconds. */
export interface ClockReading {
  /** The one that may be set. */
  readonly clock: number;
  /** The one it is held against, which goes on while the machine sleeps. */
  readonly steady: number;
}

/** Milliseconds by which the clock was set since the first reading; below zero: back. */
export function clockStep(first: ClockReading, now: ClockReading): number {
  return now.clock - first.clock - (now.steady - first.steady);
}
