import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { chainIsValid, createAgent, createPolicy } from '../../support/application/factories';
import { type Answer, type Parsed, send } from '../../support/application/send';
import { temporaryDatabase, type TemporaryDatabase } from '../../support/database/temporary-database';

const POLICIES = '/api/v1/policies';
const PAY = { action: 'pay', resourceType: 'invoice', resourceId: 'invoices/1' };
/** Changes of policies, each made through one replica and evaluated by the other. */
const CHANGES = 30;

describe('Evaluate on two replicas', () => {
  let database: TemporaryDatabase;
  let replicas: [TestApp, TestApp];

  beforeAll(async () => {
    database = await temporaryDatabase();
    const start = (): Promise<TestApp> => createTestApp({ environment: database.environment });
    replicas = [await start(), await start()];
  });
  afterAll(async () => {
    await chainIsValid(replicas[0]);
    await Promise.all(replicas.map((replica) => replica.close()));
    await database.remove();
  });

  const evaluate = (app: TestApp): Promise<Answer> =>
    send(app, 'POST', `${POLICIES}/evaluate`, { body: { agent: 'payer', ...PAY } });
  const execute = (app: TestApp): Promise<Answer> => send(app, 'POST', '/api/v1/agents/payer/execute', { body: PAY });

  it('takes into account what the other has just changed, as execute does', async () => {
    const agent = await createAgent(replicas[0], { name: 'payer', capabilities: ['pay'] });
    await createPolicy(replicas[0], { actions: ['pay'] });
    const deny = await createPolicy(replicas[0], { effect: 'deny', actions: ['pay'] });
    await send(replicas[0], 'POST', `${POLICIES}/${deny.id}/deactivate`);
    for (let change = 0; change < CHANGES; change += 1) {
      const [writer, reader] = change % 2 === 0 ? replicas : [replicas[1], replicas[0]];
      const isSuspension = change % 3 === 0;
      const [begin, end] = isSuspension
        ? [`/api/v1/agents/${agent.id}/suspend`, `/api/v1/agents/${agent.id}/resume`]
        : [`${POLICIES}/${deny.id}/activate`, `${POLICIES}/${deny.id}/deactivate`];
      await send(writer, 'POST', begin);
      const refused = await evaluate(reader);
      expect(refused.body).toMatchObject({
        effect: 'deny',
        reason: isSuspension ? 'agent_suspended' : 'policy_denied',
      });
      expect((await execute(reader)).body.error.reason).toBe(refused.body.reason);
      await send(writer, 'POST', end);
      const allowed = await evaluate(reader);
      expect(allowed.body).toMatchObject({ effect: 'allow', policySet: (await evaluate(writer)).body.policySet });
      expect((await execute(reader)).status).toBe(200);
    }
    // Each is made only if the rules that the entry names are those that its place in the ledger leads to.
    const { data } = (await send(replicas[1], 'GET', '/api/v1/executions?limit=1000')).body;
    expect(data).toHaveLength(2 * CHANGES);
    for (const { id } of data)
      expect((await send(replicas[0], 'GET', `/api/v1/executions/${id}/evidence`)).status).toBe(200);
  });

  it('and so do the lists of who can approve a decision, and of the decisions that await somebody', async () => {
    const [writer, reader] = replicas;
    const proposer = await createAgent(writer, { name: 'proposer' });
    const reviewer = await createAgent(writer, { name: 'reviewer' });
    const proposal = { type: 'loan', title: 'A loan', proposedBy: proposer.id, riskLevel: 'low' };
    const { id } = (await send(writer, 'POST', '/api/v1/decisions', { body: proposal })).body;
    const ability = async (): Promise<unknown[]> => {
      const { data } = (await send(reader, 'GET', `/api/v1/decisions/${id}/approvers`)).body;
      const { total } = (await send(reader, 'GET', `/api/v1/decisions?awaiting=${reviewer.id}`)).body;
      return [data.find((one: Parsed) => one.agentId === reviewer.id).why, total];
    };
    const review = { actions: ['decision:approve'], resources: ['decisions/low/loan'], subjects: [reviewer.id] };
    const deny = await createPolicy(writer, { effect: 'deny', ...review });
    expect(await ability()).toEqual(['policy_denied', 0]);
    for (let change = 0; change < CHANGES; change += 1) {
      await send(writer, 'POST', `${POLICIES}/${deny.id}/deactivate`);
      expect(await ability()).toEqual([null, 1]);
      await send(writer, 'POST', `/api/v1/agents/${proposer.id}/suspend`);
      expect(await ability()).toEqual(['suspended', 0]);
      await send(writer, 'POST', `/api/v1/agents/${proposer.id}/resume`);
      await send(writer, 'POST', `${POLICIES}/${deny.id}/activate`);
      expect(await ability()).toEqual(['policy_denied', 0]);
    }
  });
});
