import { createHash } from 'node:crypto';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { auditOf, chainIsValid, createAgent, createPolicy, policySetOf } from '../support/application/factories';
import { send, type Answer } from '../support/application/send';

const READ = { action: 'read', resourceType: 'document', resourceId: 'a/b' };

describe('policySet', () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await createTestApp();
    await createAgent(app, { name: 'bot', capabilities: ['read', 'pay'] });
  });
  afterAll(() => app.close());

  async function currentSet(): Promise<string> {
    return (await send(app, 'POST', '/api/v1/policies/evaluate', { body: { agent: 'bot', ...READ } })).body.policySet;
  }

  it('is initially the hash of no policies', async () => {
    expect(await currentSet()).toBe(createHash('sha256').update('[]').digest('hex'));
  });

  it('matches GET /policies after each change, and is the same in all entries of a request', async () => {
    const first = await createPolicy(app, { name: 'one', actions: ['read'] });
    const sets = [await policySetOf(app)];
    const second = await createPolicy(app, { name: 'one', version: '2', actions: ['read'] });
    sets.push(await policySetOf(app));
    await send(app, 'POST', `/api/v1/policies/${first.id}/activate`);
    sets.push(await policySetOf(app));
    await send(app, 'POST', `/api/v1/policies/${first.id}/deactivate`);
    sets.push(await policySetOf(app));
    expect(await currentSet()).toBe(sets.at(-1));
    expect(new Set(sets).size).toBe(4 - 1);
    const recorded = async (id: string): Promise<unknown[]> =>
      (await auditOf(app, id)).map(({ action, details }) => [action, details?.['policySet']]);
    expect(await recorded(first.id)).toEqual([
      ['policy.created', sets[0]],
      ['policy.superseded', sets[1]],
      ['policy.activated', sets[2]],
      ['policy.deactivated', sets[3]],
    ]);
    expect(await recorded(second.id)).toEqual([
      ['policy.created', sets[1]],
      ['policy.superseded', sets[2]],
    ]);
  });

  it('is in the entries about executions that policies decided, so that a decision can be reproduced', async () => {
    await createPolicy(app, { name: 'reads', actions: ['read'] });
    const pays = await createPolicy(app, {
      ...{ name: 'pays', actions: ['pay'], effect: 'require_approval' },
      approval: { approvers: [{ subjects: ['agent:boss'] }] },
    });
    const boss = await createAgent(app, { name: 'boss' });
    const execute = (action: string): Promise<Answer> =>
      send(app, 'POST', '/api/v1/agents/bot/execute', { body: { ...READ, action } });
    const policySet = await policySetOf(app);
    const { id: authorised } = (await execute('read')).body;
    await execute('fly');
    const { id, decisionId } = (await execute('pay')).body;
    await send(app, 'POST', `/api/v1/decisions/${decisionId}/approve`, { body: { approverId: boss.id } });
    const stop = await createPolicy(app, { name: 'stop', actions: ['pay'], effect: 'deny' });
    const then = await policySetOf(app);
    expect((await send(app, 'POST', `/api/v1/executions/${id}/resume`)).status).toBe(403);
    await send(app, 'POST', `/api/v1/policies/${stop.id}/deactivate`);
    expect((await send(app, 'POST', `/api/v1/executions/${id}/resume`)).status).toBe(200);
    expect(await policySetOf(app)).toBe(policySet);
    const recorded = async (subject: string): Promise<unknown[]> =>
      (await auditOf(app, subject)).map(({ action, details }) => [action, details?.['policySet']]);
    expect(await recorded(authorised)).toEqual([['execution.authorized', policySet]]);
    expect(await recorded(id)).toEqual([
      ['execution.approval_requested', policySet],
      ['execution.approved', undefined],
      ['execution.resume_denied', then],
      ['execution.resumed', policySet],
    ]);
    const denied = (await send(app, 'GET', '/api/v1/audit?action=execution.denied')).body.data;
    expect(denied[0].details).toMatchObject({ action: 'fly', policySet });

    // From the chain alone: the entries show which policies were in force, and these are the set named.
    const trail = (await send(app, 'GET', '/api/v1/audit?order=asc&limit=1000')).body.data as {
      action: string;
      subjectId: string;
      details: { policySet?: string };
    }[];
    const active = new Set<string>();
    for (const { action, subjectId, details } of trail) {
      if (action === 'policy.created' || action === 'policy.activated') active.add(subjectId);
      if (action === 'policy.superseded' || action === 'policy.deactivated') active.delete(subjectId);
      const isHalfway = action === 'policy.superseded';
      if (details.policySet === undefined || isHalfway) continue;
      const hash = createHash('sha256').update(JSON.stringify([...active].sort()));
      expect([action, hash.digest('hex')]).toEqual([action, details.policySet]);
    }
    expect(active.has(pays.id)).toBe(true);
    await chainIsValid(app);
  });
});
