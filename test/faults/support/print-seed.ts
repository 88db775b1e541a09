import { randomInt } from 'node:crypto';

/** Jest calls this once, before the first fault test; workers inherit the seed. */
export default function printSeed(): void {
  process.env['FAULT_SEED'] ??= String(randomInt(2 ** 31));
  process.stdout.write(`\nFaults: FAULT_SEED=${process.env['FAULT_SEED']} makes the same choices again.\n`);
}
