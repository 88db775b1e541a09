import { ask, company } from '../approvals/support';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { createEntity, createPolicy } from '../support/application/factories';
import { moveTime, restoreTime } from '../support/database/moved-time';
import { send } from '../support/application/send';
import { runVerifier } from '../support/processes/run-verifier';

const DAY = 86_400_000;

describe('A result that is reported more than a week after the request', () => {
  let app: TestApp;

  beforeEach(async () => {
    app = await createTestApp({ environment: { MAX_CLOCK_STEP: String(10 * DAY) } });
  });
  afterEach(async () => {
    await restoreTime();
    await app.close();
  });

  it('is valid in a log of an execution that is filed under an entity', async () => {
    const { bot } = await company(app);
    await createPolicy(app, { effect: 'allow', actions: ['refund'] });
    const entity = await createEntity(app);
    const { id } = (await ask(app, bot, { resourceId: `shops/${entity.id}` })).body;
    await moveTime(9 * DAY);
    // With this entry the log forgets what was authorised a week before.
    await ask(app, bot);
    const { status } = await send(app, 'POST', `/api/v1/executions/${id}/result`, { body: { outcome: 'executed' } });
    expect(status).toBe(200);
    const exported = (await send(app, 'GET', '/api/v1/provenance/export')).text;
    expect((await runVerifier(['-'], exported)).output).toMatch(/\nVALID\n$/);
  });
});
