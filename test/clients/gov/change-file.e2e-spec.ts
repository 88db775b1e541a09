import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { approvedChange, changeHeader, type ChangeStage, newPolicy, startChanges } from '../../changes/support';
import { API_KEY } from '../../support/application/api-key';
import { send } from '../../support/application/send';
import { stageOf } from '../../support/application/stage';
import { describeOnSqlite } from '../../support/database/database-kind';
import { buildCommandLine, gov } from '../command-line';

describeOnSqlite('gov evidence, of a change', () => {
  const stage: ChangeStage = stageOf(async () => {
    await buildCommandLine();
    return startChanges();
  });

  it('has recomputed who approved it, and what it made', async () => {
    const { app, ada, cyd } = stage;
    const sent = { key: cyd.key, body: newPolicy() };
    const id = await approvedChange(app, ['POST', '/api/v1/policies', sent], [ada]);
    expect((await send(app, 'POST', '/api/v1/policies', { ...sent, ...changeHeader(id) })).status).toBe(201);
    const { publicKey } = (await send(app, 'GET', '/api/v1/provenance/checkpoint')).body;
    const home = mkdtempSync(join(tmpdir(), 'gov-home-'));
    const environment = { XDG_CONFIG_HOME: home, GOVERNANCE_URL: app.url, GOVERNANCE_API_KEY: API_KEY };
    const run = await gov(['evidence', id, '--verify', '--public-key', publicKey], { environment });
    rmSync(home, { recursive: true });
    expect(run).toMatchObject({ exitCode: 0, errors: '' });
    expect(run.output).toContain(`change       ${id}\n`);
    expect(run.output).toMatch(/\nRECOMPUTED: made as recorded\n$/);
  });
});
