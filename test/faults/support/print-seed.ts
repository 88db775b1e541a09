import { randomInt } from 'node:crypto';
import migrateDatabase from '../../support/jest/before-sqlite-tests';

/** Jest calls this once, before the first fault test; workers inherit the seed. Some tests have an application, too. */
export default async function printSeed(): Promise<void> {
  process.env['FAULT_SEED'] ??= String(randomInt(2 ** 31));
  process.stdout.write(`\nFaults: FAULT_SEED=${process.env['FAULT_SEED']} makes the same choices again.\n`);
  await migrateDatabase();
}
