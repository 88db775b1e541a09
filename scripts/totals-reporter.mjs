import { writeFileSync, writeSync } from 'node:fs';

const STDOUT = 1;
/** How fast-check begins the report of a counterexample. */
const COUNTEREXAMPLE = /Property failed after/;
const ROOM = /\.room-spec\.ts$/;

/**
 * Jest reporter: ends the run with the line `N passed, N failed`. A test file that could not run counts as one failure.
 * With FAILED_FILES=<path> it writes there which files failed, for scripts/repeat-failed.mjs.
 */
export default class TotalsReporter {
  failed = [];

  /** Also called for a file that could not run, such as one whose worker was killed. */
  onTestFileResult({ path, context }, result) {
    const { numFailingTests, numPassingTests, testExecError, failureMessage } = result;
    if (numFailingTests === 0 && testExecError == null) return;
    const hasCounterexample = COUNTEREXAMPLE.test(failureMessage ?? '');
    const { name: project } = context.config.displayName;
    this.failed.push({ project, path, parts: partsOf(path, result), passed: numPassingTests, hasCounterexample });
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

/** The files that failed: a room runs many in one process, each in a `describe` of its name. */
function partsOf(path, { testResults, testExecError }) {
  if (!ROOM.test(path) || testExecError != null) return [path];
  const failed = testResults.filter(({ status }) => status === 'failed');
  return [...new Set(failed.map(({ ancestorTitles: [file = path] }) => file))];
}
