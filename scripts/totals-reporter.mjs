import { writeFileSync, writeSync } from 'node:fs';

const STDOUT = 1;
/** How fast-check begins the report of a counterexample. */
const COUNTEREXAMPLE = /Property failed after/;

/**
 * Jest reporter: ends the run with the line `N passed, N failed`. A test file that could not run counts as one failure.
 * With FAILED_FILES=<path> it writes there which files failed, for scripts/repeat-failed.mjs.
 */
export default class TotalsReporter {
  failed = [];

  /** Also called for a file that could not run, such as one whose worker was killed. */
  onTestFileResult({ path, context }, { numFailingTests, numPassingTests, testExecError, failureMessage }) {
    if (numFailingTests === 0 && testExecError == null) return;
    const hasCounterexample = COUNTEREXAMPLE.test(failureMessage ?? '');
    this.failed.push({ project: context.config.displayName.name, path, passed: numPassingTests, hasCounterexample });
  }

  onRunComplete(_contexts, results) {
    const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
    // Jest prints its own summary after all reporters, so the line waits for the end of the process.
    process.once('exit', () => writeSync(STDOUT, `\n${results.numPassedTests} passed, ${failed} failed\n`));
    const { FAILED_FILES } = process.env;
    if (FAILED_FILES !== undefined)
      writeFileSync(FAILED_FILES, JSON.stringify({ passed: results.numPassedTests, files: this.failed }));
  }
}
