/**
 * Runs the few test files that failed in a CI run once more, each by itself, and ends with the line `N passed, N failed`
 * for both runs together. A file that passes only now is named: on a machine that CI shares with others its first
 * failure is worth a look, but holds nobody up. Many failures are not repeated, nor is a counterexample to a property:
 * another run would try other cases.
 *
 * The argument is the file that scripts/totals-reporter.mjs wrote.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { root } from './run.mjs';

const MOST_FILES = 3;

const [listFile] = process.argv.slice(2);
if (listFile === undefined || !existsSync(listFile)) process.exit(1);
const first = JSON.parse(readFileSync(listFile, 'utf8'));
const parts = first.files.flatMap((file) => file.parts);
if (parts.length === 0 || parts.length > MOST_FILES) process.exit(1);
if (first.files.some(({ hasCounterexample }) => hasCounterexample)) process.exit(1);

const folder = mkdtempSync(join(tmpdir(), 'repeated-'));
try {
  const repeated = first.files.map((file) => ({ ...file, again: runAgain(file) }));
  const gain = repeated.reduce((sum, { passed, again }) => sum + again.passed - passed, 0);
  const failed = repeated.reduce((sum, { again }) => sum + again.failed, 0);
  for (const { project, parts: ofFile, again } of repeated)
    console.log(
      `${again.failed === 0 ? 'PASSED ONLY WHEN REPEATED' : 'FAILED TWICE'}: ${project} ${ofFile.join(', ')}`,
    );
  console.log(`\n${first.passed + gain} passed, ${failed} failed`);
  process.exitCode = failed === 0 ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function runAgain({ project, path }) {
  const output = join(folder, 'result.json');
  rmSync(output, { force: true });
  const file = relative(root, path);
  console.log(`\nOnce more, by itself: ${project} ${file}`);
  const options = ['--selectProjects', project, '--maxWorkers', '1', '--json', '--outputFile', output];
  const env = { ...process.env, FAILED_FILES: undefined };
  spawnSync('npx', ['jest', '--runTestsByPath', file, ...options], {
    cwd: root,
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  if (!existsSync(output)) return { passed: 0, failed: 1 };
  const { numPassedTests, numFailedTests, numRuntimeErrorTestSuites } = JSON.parse(readFileSync(output, 'utf8'));
  const failed = numFailedTests + numRuntimeErrorTestSuites;
  // A run without any test proves nothing.
  return { passed: numPassedTests, failed: numPassedTests + failed === 0 ? 1 : failed };
}
