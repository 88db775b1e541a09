import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { auditOf, chainIsValid, createAgent, createPolicy, issueKey } from '../support/application/factories';
import { type Answer, faults, send } from '../support/application/send';

const CANCEL = '/api/v1/executions/cancel';

describe('What a run waits for', () => {
  let app: TestApp;
  let bound: string;

  beforeAll(async () => {
    app = await createTestApp({ environment: { RATE_LIMIT: '1000000', MAX_PENDING_APPROVALS: '1100' } });
    const bot = await createAgent(app, { name: 'bot', capabilities: ['pay', 'look'] });
    await createAgent(app, { name: 'twin', capabilities: ['pay'] });
    await createAgent(app, { name: 'boss', kind: 'human' });
    await createPolicy(app, { actions: ['look'] });
    await createPolicy(app, {
      ...{ actions: ['pay'], effect: 'require_approval' },
      approval: { approvers: [{ subjects: ['agent:boss'] }] },
    });
    bound = (await issueKey(app, { scopes: ['execute'], agentId: bot.id })).secret;
  });
  afterAll(() => app.close());

  const cancel = (body: object, key?: string): Promise<Answer> =>
    send(app, 'POST', CANCEL, { body, ...(key !== undefined && { key }) });
  async function ask(run: string | undefined, resourceId: string, more: object = {}, agent = 'bot'): Promise<string> {
    const body = { action: 'pay', resourceType: 'invoice', resourceId, run, ...more };
    return (await send(app, 'POST', `/api/v1/agents/${agent}/execute`, { body })).body.id;
  }
  const read = async (id: string): Promise<Answer['body']> => (await send(app, 'GET', `/api/v1/executions/${id}`)).body;

  it('is cancelled with the decisions, an entry each, and nothing else is', async () => {
    const [waiting, approved] = [await ask('one', '1'), await ask('one', '2')];
    await send(app, 'POST', `/api/v1/decisions/${(await read(approved)).decisionId}/approve`, {
      body: { approverId: 'boss' },
    });
    const others = [
      await ask('two', '3'),
      await ask(undefined, '4'),
      await ask('one', '5', {}, 'twin'),
      await ask('one', '6', { action: 'look' }),
    ];
    const before = await Promise.all(others.map(read));
    const reason = 'The conversation has ended.';
    const { status, body } = await cancel({ agentId: 'bot', run: 'one', reason });
    expect([status, body]).toEqual([200, { cancelled: 2, more: false }]);
    for (const id of [waiting, approved]) {
      expect((await read(id)).outcome).toBe('cancelled');
      expect((await auditOf(app, id)).at(-1)).toMatchObject({ action: 'execution.cancelled', reason });
    }
    const decision = (await send(app, 'GET', `/api/v1/decisions/${(await read(waiting)).decisionId}`)).body;
    expect(decision.status).toBe('cancelled');
    expect(await Promise.all(others.map(read))).toEqual(before);
    expect((await cancel({ agentId: 'bot', run: 'one' })).body).toEqual({ cancelled: 0, more: false });
  });

  it('is that of the caller’s own agent, for a caller that is bound to one', async () => {
    await ask('own', '1');
    expect((await cancel({ run: 'own' }, bound)).body).toEqual({ cancelled: 1, more: false });
    const other = await cancel({ agentId: 'twin', run: 'own' }, bound);
    expect([other.status, other.body.error.reason]).toEqual([403, 'not_this_agent']);
    expect(Object.keys(faults(await cancel({ run: 'own' })))).toEqual(['agentId']);
    expect(Object.keys(faults(await cancel({ agentId: 'nobody', run: 'own' })))).toEqual(['agentId']);
    expect(Object.keys(faults(await cancel({ agentId: 'bot' })))).toEqual(['run']);
  });

  it('is cancelled a thousand at a time', async () => {
    for (let made = 0; made < 1010; made += 101)
      await Promise.all(Array.from({ length: 101 }, (_, index) => ask('many', `${made + index}`)));
    expect((await cancel({ agentId: 'bot', run: 'many' })).body).toEqual({ cancelled: 1000, more: true });
    expect((await cancel({ agentId: 'bot', run: 'many' })).body).toEqual({ cancelled: 10, more: false });
  });

  it('is cancelled in parts where it is very large', async () => {
    const text = 'x'.repeat(900_000);
    for (let made = 0; made < 8; made += 1) await ask('large', `${made}`, { parameters: { text } });
    expect((await cancel({ agentId: 'bot', run: 'large' })).body).toEqual({ cancelled: 5, more: true });
    expect((await cancel({ agentId: 'bot', run: 'large' })).body).toEqual({ cancelled: 3, more: false });
  });

  it('leaves a chain that verifies', () => chainIsValid(app));
});
