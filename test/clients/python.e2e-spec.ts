import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ActionsModule } from '../support/application/actions.module';
import { API_KEY } from '../support/application/api-key';
import { createTestApp } from '../support/application/create-test-app';
import { describeOnSqlite } from '../support/database/database-kind';
import { ROOT } from '../support/documents/markdown';
import { run } from '../support/processes/shell';

const hasPython = spawnSync('python3', ['--version']).status === 0;
if (!hasPython) process.stdout.write('SKIPPED: the tests of the Python client need python3.\n');

describeOnSqlite('The Python client', () => {
  (hasPython ? it : it.skip)(
    'passes its own tests against the running service, and against answers that are rare',
    async () => {
      const app = await createTestApp({ modules: [ActionsModule] });
      const environment = { GOVERNANCE_URL: app.url, GOVERNANCE_API_KEY: API_KEY, PYTHONDONTWRITEBYTECODE: '1' };
      const folder = join(ROOT, 'clients', 'python');
      for (const file of ['test_governance.py', 'test_errors.py']) {
        const tests = readFileSync(join(folder, file), 'utf8').match(/^ {4}def test_/gm)?.length;
        const { exitCode, errors } = await run('python3', [file], { folder, environment });
        const passed = expect.stringMatching(new RegExp(`Ran ${tests} tests in .*\\n\\nOK\\n$`));
        expect({ exitCode, errors }).toEqual({ exitCode: 0, errors: passed });
      }
      await app.close();
    },
    300_000,
  );
});
