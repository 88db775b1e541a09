import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ActionsModule } from '../../support/application/actions.module';
import { API_KEY } from '../../support/application/api-key';
import { createTestApp } from '../../support/application/create-test-app';
import { describeOnSqlite } from '../../support/database/database-kind';
import { ROOT } from '../../support/documents/markdown';
import { run } from '../../support/processes/shell';

const FOLDER = join(ROOT, 'clients', 'python');
/** Debian's, for which there are packages of what builds. */
const SYSTEM_PYTHON = '/usr/bin/python3';
/** Modules that are installed: not the tests, nor what stands in for others. */
const MODULE = /^(?:governance\w*|permits)\.py$/;

function isThere(command: string, ...parameters: string[]): boolean {
  return spawnSync(command, parameters).status === 0;
}

const hasPython = isThere('python3', '--version');
if (!hasPython) process.stdout.write('SKIPPED: the tests of the Python client need python3.\n');

describeOnSqlite('The Python client', () => {
  /** A file is a test of its own: together they took longer than a test may on a busy machine. */
  (hasPython ? it : it.skip).each([
    ...['test_governance.py', 'test_errors.py', 'test_async.py', 'test_adapters.py'],
    'test_changes.py',
  ])('passes its own tests against the running service, and against answers that are rare: %s', async (file) => {
    const app = await createTestApp({
      modules: [ActionsModule],
      environment: {
        ...{ RATE_LIMIT: '1000000', PUBLIC_URL: 'http://127.0.0.1', PERMIT_AUDIENCES: 'bank' },
        FOUR_EYES: String(file === 'test_changes.py'),
      },
    });
    try {
      const environment = { GOVERNANCE_URL: app.url, GOVERNANCE_API_KEY: API_KEY, PYTHONDONTWRITEBYTECODE: '1' };
      const tests = readFileSync(join(FOLDER, file), 'utf8').match(/^ {4}(?:async )?def test_/gm)?.length;
      const { exitCode, errors } = await run('python3', [file], { folder: FOLDER, environment });
      const passed = expect.stringMatching(new RegExp(`Ran ${tests} tests in .*\\n\\nOK\\n$`));
      expect({ exitCode, errors }).toEqual({ exitCode: 0, errors: passed });
    } finally {
      await app.close();
    }
  });

  /** Types only its own source: stand-ins and tests are not part of it. */
  (isThere('mypy', '--version') ? it : it.skip)(
    'has types that mypy --strict finds nothing in (needs mypy)',
    async () => {
      const sources = readdirSync(FOLDER).filter((name) => MODULE.test(name));
      const checked = await run('mypy', ['--strict', '--cache-dir', '/dev/null', ...sources], { folder: FOLDER });
      expect(checked).toMatchObject({ exitCode: 0, output: expect.stringMatching(/^Success: /) });
    },
  );

  const canInstall = isThere(SYSTEM_PYTHON, '-c', 'import setuptools, wheel, pip');
  (canInstall ? it : it.skip)('is installed by pip (needs the system\u2019s pip, setuptools and wheel)', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'governance-python-'));
    // Building leaves files there.
    cpSync(FOLDER, join(folder, 'source'), { recursive: true });
    const options = ['--quiet', '--no-index', '--no-build-isolation', '--no-deps', '--target', 'installed'];
    const installed = await run(SYSTEM_PYTHON, ['-m', 'pip', 'install', ...options, './source'], { folder });
    expect(installed.exitCode).toBe(0);
    const modules = readdirSync(FOLDER).filter((name) => MODULE.test(name));
    expect(
      readdirSync(join(folder, 'installed'))
        .filter((name) => name.endsWith('.py'))
        .sort(),
    ).toEqual(modules.sort());
    rmSync(folder, { recursive: true });
  });
});
