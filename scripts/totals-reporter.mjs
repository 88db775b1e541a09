import { writeSync } from 'node:fs';

const STDOUT = 1;

/**
 * Jest reporter: ends the run with the line `N passed, N failed`. A test file that could not run counts as one failure.
 */
export default class TotalsReporter {
  onRunComplete(_contexts, { numPassedTests, numFailedTests, numRuntimeErrorTestSuites }) {
    const failed = numFailedTests + numRuntimeErrorTestSuites;
    // Jest prints its own summary after all reporters, so the line waits for the end of the process.
    process.once('exit', () => writeSync(STDOUT, `\n${numPassedTests} passed, ${failed} failed\n`));
  }
}
