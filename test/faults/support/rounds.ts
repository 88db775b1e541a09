/**
 * Rounds of tests that depend on chance. They are few, as other choices are made each time; FAULT_ROUNDS sets another
 * number.
 */
export const ROUNDS = Number(process.env['FAULT_ROUNDS'] ?? 4);

/** Milliseconds that a test of `ROUNDS` rounds may take on the slowest machine. */
export function roundsTimeLimit(maxRoundMs: number): number {
  return 300_000 + ROUNDS * maxRoundMs;
}
