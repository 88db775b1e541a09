import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  createPostgresDatabase,
  dropPostgresDatabase,
  onServer,
  TEST_SERVER,
} from '../support/database/database-server';
import { ROOT } from '../support/documents/markdown';
import { run } from '../support/processes/shell';

describe('scripts/write-release-fixture.mjs', () => {
  it('writes a database of PostgreSQL with executions that were interrupted and that run', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'release-fixture-'));
    const script = join(ROOT, 'scripts', 'write-release-fixture.mjs');
    const { errors, exitCode, output } = await run(process.execPath, [script, folder, `${TEST_SERVER}/test`]);
    expect([exitCode, errors]).toEqual([0, '']);
    const url = await createPostgresDatabase();
    await onServer(readFileSync(output.trim(), 'utf8'), url);
    const rows = await onServer(`SELECT "outcome" FROM "executions" WHERE "action" = 'hang' ORDER BY 1`, url);
    expect(rows).toEqual([{ outcome: 'interrupted' }, { outcome: 'running' }]);
    await dropPostgresDatabase(url);
    rmSync(folder, { recursive: true });
  });
});
