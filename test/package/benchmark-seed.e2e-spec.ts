import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { seed } from '../../bench/growth/seed';
import { serviceSettings } from '../../bench/support/settings';
import { createTestApp } from '../support/application/create-test-app';
import { describeOnSqlite } from '../support/database/database-kind';
import { send } from '../support/application/send';

describeOnSqlite('The database that the benchmark fills', () => {
  it('is valid, as if the service had written it', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'seed-test-'));
    try {
      const path = join(folder, 'governance.db');
      await seed(path, { entities: 20, policies: 20 });
      const app = await createTestApp({
        environment: { DATABASE_URL: `sqlite:${path}`, SECRET_KEY: serviceSettings(path)['SECRET_KEY'] },
      });
      const { body } = await send(app, 'POST', '/api/v1/provenance/verify', { body: { state: true } });
      await app.close();
      expect(body).toMatchObject({ valid: true, firstInvalidDerived: [], recordsVerified: 40 });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
