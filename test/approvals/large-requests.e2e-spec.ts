import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { chainIsValid, createPolicy, propose } from '../support/application/factories';
import { type Answer, send } from '../support/application/send';
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

  it('are cancelled with their run few at a time, and approved together so', async () => {
    const run = 'large run';
    const requests = [];
    for (let count = 0; count < 5; count += 1)
      requests.push(await pending(app, people.bot, { ...order(), parameters: LARGE, run }));
    const decisions = requests.map(({ decisionId, actionHash }) => ({ id: decisionId, actionHash }));
    const approveAll = (some: readonly object[]): Promise<Answer> =>
      send(app, 'POST', '/api/v1/decisions/approve', { body: { approverId: people.ann.id, decisions: some } });
    expect((await approveAll(decisions)).status).toBe(409);
    expect((await approveAll(decisions.slice(0, 3))).status).toBe(200);
    const body = { agentId: people.bot.id, run };
    expect((await send(app, 'POST', `${EXECUTIONS}/cancel`, { body })).body).toEqual({ cancelled: 5, more: false });
  });
});

/** Ten lists of names that nobody has: a fifth of a megabyte. */
const APPROVERS = Array.from({ length: 10 }, (_, group) => ({
  subjects: ['role:finance', ...Array.from({ length: 99 }, (_, at) => `agent:${`${group}-${at}`.padEnd(450, 'x')}`)],
}));

describe('Requests with many approvers', () => {
  let app: TestApp;
  let people: Company;

  beforeAll(async () => {
    app = await createTestApp({ environment: { MAX_PENDING_APPROVALS: '100' } });
    people = await company(app);
    await requireApproval(app, { approvers: APPROVERS });
  });
  afterAll(async () => {
    await chainIsValid(app);
    await app.close();
  });

  it('wait in as many runs as one commit can cancel', async () => {
    const refund = order();
    for (let run = 1; run <= 9; run += 1) await pending(app, people.bot, { ...refund, run: `run ${run}` });
    const refused = await ask(app, people.bot, { ...refund, run: 'run 10' });
    expect([refused.status, refused.body.error.code]).toEqual([409, 'CONFLICT']);
  });

  it('are cancelled with their run few at a time', async () => {
    for (let count = 0; count < 12; count += 1) await pending(app, people.bot, { ...order(), run: 'long run' });
    const cancel = async (): Promise<object> =>
      (await send(app, 'POST', `${EXECUTIONS}/cancel`, { body: { agentId: people.bot.id, run: 'long run' } })).body;
    expect(await cancel()).toEqual({ cancelled: 10, more: true });
    expect(await cancel()).toEqual({ cancelled: 2, more: false });
  });
});

describe('Decisions with large contexts', () => {
  it('are approved together if they are few', async () => {
    const app = await createTestApp();
    const { bot, ann } = await company(app);
    const decisions = [];
    for (let count = 0; count < 5; count += 1)
      decisions.push({ id: (await propose(app, bot.id, { context: LARGE })).id, actionHash: null });
    const approveAll = (some: readonly object[]): Promise<Answer> =>
      send(app, 'POST', '/api/v1/decisions/approve', { body: { approverId: ann.id, decisions: some } });
    const refused = await approveAll(decisions);
    expect([refused.status, refused.body.error.message]).toEqual([
      409,
      'These decisions are too large to be approved together. Approve fewer at a time.',
    ]);
    expect((await approveAll(decisions.slice(0, 4))).status).toBe(200);
    await app.close();
  });
});
