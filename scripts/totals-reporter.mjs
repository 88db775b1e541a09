import { writeFileSync, writeSync } from 'node:fs';

const STDOUT = 1;

/**
 * Jest reporter: ends the run with the line `N passed, N failed`. A test file that could not run counts as one failure.
 * With FAILED_FILES=<path> it writes there which files failed, for scripts/repeat-failed.mjs.
 */
export default class TotalsReporter {
  onRunComplete(_contexts, results) {
    const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
    const { FAILED_FILES } = process.env;
    if (FAILED_FILES !== undefined)
      writeFileSync(FAILED_FILES, JSON.stringify({ passed: results.numPassedTests, files: failedFiles(results) }));
    // Jest prints its own summary after all reporters, so the line waits for the end of the process.
    process.once('exit', () => writeSync(STDOUT, `\n${results.numPassedTests} passed, ${failed} failed\n`));
  }
}

function failedFiles({ testResults }) {
  return testResults
    .filter(({ numFailingTests, testExecError }) => numFailingTests > 0 || testExecError != null)
    .map(({ displayName, testFilePath, numPassingTests }) => {
      return { project: displayName.name, path: testFilePath, passed: numPassingTests };
    });
}
