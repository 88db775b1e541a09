import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { chainIsValid, createPolicy } from '../support/application/factories';
import { send } from '../support/application/send';
import { ask, company, EXECUTIONS, order, pending, requireApproval, type Company } from './support';

/** Four of them fit into 4 MiB. */
const LARGE = { text: 'x'.repeat(1_000_000) };

describe('Requests with large parameters', () => {
  let app: TestApp;
  let people: Company;

  beforeAll(async () => {
    app = await createTestApp();
    people = await company(app);
    await requireApproval(app);
  });
  afterAll(async () => {
    await chainIsValid(app);
    await app.close();
  });

  it('wait in as many runs as one commit can cancel', async () => {
    const refund = { ...order(), parameters: LARGE };
    const first = await pending(app, people.bot, { ...refund, run: 'run 1' });
    for (const run of ['run 2', 'run 3', 'run 4']) await pending(app, people.bot, { ...refund, run });
    const refused = await ask(app, people.bot, { ...refund, run: 'run 5' });
    expect([refused.status, refused.body.error.code]).toEqual([409, 'CONFLICT']);
    // In its own run the request is no further one, and another action has nothing to do with these.
    expect((await pending(app, people.bot, { ...refund, run: 'run 1' })).id).toBe(first.id);
    await pending(app, people.bot, { ...order(), parameters: LARGE, run: 'run 5' });
    await send(app, 'POST', `${EXECUTIONS}/${first.id}/cancel`);
    await pending(app, people.bot, { ...refund, run: 'run 5' });
    await createPolicy(app, {
      actions: ['refund'],
      resources: [refund.resourceId],
      priority: 1,
      limits: [{ max: 1, per: 'day', by: 'agent' }],
    });
    expect((await ask(app, people.bot, refund)).body.outcome).toBe('authorized');
    const query = `outcome=pending_approval&resourceId=${encodeURIComponent(refund.resourceId)}`;
    expect((await send(app, 'GET', `${EXECUTIONS}?${query}`)).body.total).toBe(0);
  });

  it('wait in any number of runs if they are small', async () => {
    const refund = order();
    for (let run = 1; run <= 6; run += 1) await pending(app, people.bot, { ...refund, run: `run ${run}` });
  });
});
