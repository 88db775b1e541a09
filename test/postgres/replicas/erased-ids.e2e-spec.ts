import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ErasedIds } from '../../../src/evidence/erasures/erased-ids';
import { LedgerService } from '../../../src/ledger/ledger.service';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { createEntity } from '../../support/application/factories';
import { erase } from '../../support/application/erase';
import { temporaryDatabase } from '../../support/database/temporary-database';

describe('Replicas with folders of their own', () => {
  it('both keep the ids of what one of them erases: either may be the first to start on an older backup', async () => {
    const database = await temporaryDatabase();
    const folder = mkdtempSync(join(tmpdir(), 'governance-replicas-'));
    const start = (name: string): Promise<TestApp> =>
      createTestApp({
        environment: { ...database.environment, CHECKPOINT_FOLDER: join(folder, name), RETAIN_AT_LEAST: 'PT0S' },
      });
    const [here, there] = [await start('here'), await start('there')];
    const { path } = there.application.get(ErasedIds);
    // The replica looks for erasures again only after this erasure has ended.
    const healthy = jest.spyOn(there.application.get(LedgerService), 'isHealthy', 'get').mockReturnValue(false);
    const { id } = await createEntity(here);
    await erase(here, { type: 'entity', id });
    healthy.mockRestore();
    const isKept = (): boolean => existsSync(path) && readFileSync(path, 'utf8').includes(`entity ${id}\n`);
    for (let looks = 0; looks < 100 && !isKept(); looks += 1) await sleep(50);
    expect(isKept()).toBe(true);
    await Promise.all([here.close(), there.close()]);
    rmSync(folder, { recursive: true });
    await database.remove();
  });
});
