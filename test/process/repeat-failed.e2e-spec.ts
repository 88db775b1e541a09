import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '../support/documents/markdown';
import { run } from '../support/processes/shell';

/** A short test that passes, standing for one that failed because the machine was busy. */
const PASSES = 'test/documents/your-first-test.e2e-spec.ts';
const MISSING = 'test/documents/missing.e2e-spec.ts';

describe('Test files that failed in CI', () => {
  const folder = mkdtempSync(join(tmpdir(), 'repeat-failed-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const list = join(folder, 'failed.json');
  const repeated = (files: readonly string[], hasCounterexample = false, parts?: string[]): ReturnType<typeof run> => {
    const failed = files.map((file) => {
      const path = join(ROOT, file);
      return { project: 'sqlite', path, parts: parts ?? [path], passed: 0, hasCounterexample };
    });
    writeFileSync(list, JSON.stringify({ passed: 7, files: failed }));
    return run('node', ['scripts/repeat-failed.mjs', list]);
  };

  it('are repeated, and named where they pass only then', async () => {
    const { exitCode, output } = await repeated([PASSES]);
    expect(exitCode).toBe(0);
    expect(output).toContain(`PASSED ONLY WHEN REPEATED: sqlite ${join(ROOT, PASSES)}`);
    expect(output).toMatch(/\n8 passed, 0 failed\n$/);
  });

  it('fail the run where one fails again, or cannot run', async () => {
    const { exitCode, output } = await repeated([PASSES, MISSING]);
    expect(exitCode).toBe(1);
    expect(output).toContain(`FAILED TWICE: sqlite ${join(ROOT, MISSING)}`);
    expect(output).toMatch(/\n8 passed, 1 failed\n$/);
  });

  it('are not repeated where there are many, or where nothing is known about them', async () => {
    expect(await repeated([PASSES, PASSES, PASSES, PASSES])).toMatchObject({ exitCode: 1, output: '' });
    expect(await repeated([])).toMatchObject({ exitCode: 1, output: '' });
    expect(await run('node', ['scripts/repeat-failed.mjs', join(folder, 'none')])).toMatchObject({ exitCode: 1 });
  });

  it('are counted one by one where a folder runs in one process', async () => {
    const parts = ['http/lists', 'http/docs', 'http/cors', 'http/body'];
    expect(await repeated([PASSES], false, parts)).toMatchObject({ exitCode: 1, output: '' });
    const { output } = await repeated([PASSES], false, parts.slice(0, 2));
    expect(output).toContain('PASSED ONLY WHEN REPEATED: sqlite http/lists, http/docs');
  });

  it('are not repeated where a property has a counterexample', async () => {
    expect(await repeated([PASSES], true)).toMatchObject({ exitCode: 1, output: '' });
  });

  it('are on the list, also those that could not run', async () => {
    const broken = join(ROOT, 'test', 'process', 'broken.scratch.e2e-spec.ts');
    const environment = { FAILED_FILES: list };
    writeFileSync(broken, 'throw new Error("It cannot be loaded.");');
    try {
      const options = ['--selectProjects', 'sqlite', '--maxWorkers', '1'];
      const { output } = await run('npx', ['jest', '--runTestsByPath', broken, ...options], {
        environment,
        folder: ROOT,
      });
      expect(output).toMatch(/\n0 passed, 1 failed\n$/);
    } finally {
      rmSync(broken);
    }
    const { files } = JSON.parse(readFileSync(list, 'utf8'));
    expect(files).toEqual([{ project: 'sqlite', path: broken, parts: [broken], passed: 0, hasCounterexample: false }]);
  });
});
