import { Database } from '../../src/ledger/database/database';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { createAgent, createPolicy } from '../support/application/factories';
import { send } from '../support/application/send';

const POLICIES = 40;
const ROLES = 50;

describe('Warnings about approvers', () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await createTestApp();
  });
  afterAll(() => app.close());

  it.each<[people: string[][], groups: object[], possible: number | null]>([
    [[['hr']], [{ subjects: ['role:hr'], approvals: 2 }], 1],
    [[['hr'], ['hr']], [{ subjects: ['role:hr'], approvals: 2 }], null],
    [
      [['lead', 'finance'], ['finance']],
      [{ subjects: ['role:lead'] }, { subjects: ['role:finance'], approvals: 2 }],
      2,
    ],
    [[['a', 'b'], ['a']], [{ subjects: ['role:a'] }, { subjects: ['role:b'] }], null],
    [[['a', 'b']], [{ subjects: ['role:a'] }, { subjects: ['principal'] }], 1],
    [[['a'], ['b']], [{ subjects: ['role:a'] }, { subjects: ['principal'] }], null],
  ])('of %j count different people for %j', async (people, approvers, possible) => {
    const own = await createTestApp();
    for (const [index, roles] of people.entries()) await createAgent(own, { name: `p${index}`, kind: 'human', roles });
    await createAgent(own, { name: 'gone', kind: 'human', roles: ['hr', 'lead', 'finance', 'a', 'b'] });
    await send(own, 'POST', '/api/v1/agents/gone/suspend');
    const rules = { version: '1', effect: 'require_approval', subjects: ['*'], actions: ['*'], resources: ['*'] };
    const policy = { ...rules, name: 'p', approval: { approvers } };
    const { body: plan } = await send(own, 'POST', '/api/v1/policies/plan', { body: { policies: [policy] } });
    const { body: created } = await send(own, 'POST', '/api/v1/policies', { body: policy });
    await send(own, 'POST', '/api/v1/policies/plan', { body: { policies: [] } });
    for (const warnings of [plan.warnings, created.warnings])
      expect(warnings.filter((warning: string) => warning.includes('another reviewer'))).toEqual(
        possible === null ? [] : [expect.stringContaining(`match can give ${possible} of them`)],
      );
    await own.close();
  });

  it.each<[what: string, people: string[][], approvers: object[], feasible: string | null]>([
    ['nobody', [], [{ subjects: ['role:hr'] }], 'false'],
    ['too few people', [['hr']], [{ subjects: ['role:hr'], approvals: 2 }], 'false'],
    ['one person for two groups', [['a', 'b']], [{ subjects: ['role:a'] }, { subjects: ['role:b'] }], 'false'],
    ['nobody with a passkey', [['hr']], [{ subjects: ['role:hr'], signed: true }], 'false'],
    ['enough people', [['hr'], ['hr']], [{ subjects: ['role:hr'], approvals: 2 }], null],
  ])('are a header of the 202 that asks first: %s', async (_, people, approvers, feasible) => {
    const own = await createTestApp();
    for (const [index, roles] of people.entries()) await createAgent(own, { name: `p${index}`, kind: 'human', roles });
    const { name } = await createAgent(own, { name: 'bot', capabilities: ['refund'] });
    await createPolicy(own, { effect: 'require_approval', actions: ['refund'], approval: { approvers } });
    const body = { action: 'refund', resourceType: 'payment', resourceId: 'orders/1' };
    const first = await send(own, 'POST', `/api/v1/agents/${name}/execute`, { body });
    const again = await send(own, 'POST', `/api/v1/agents/${name}/execute`, { body });
    expect([first.status, first.headers.get('approval-feasible')]).toEqual([202, feasible]);
    expect([again.status, again.headers.get('approval-feasible')]).toEqual([202, null]);
    await own.close();
  });

  it('are left out of a 202, which is answered all the same, if the agents cannot be read', async () => {
    const own = await createTestApp();
    const { name } = await createAgent(own, { name: 'bot', capabilities: ['refund'] });
    const approval = { approvers: [{ subjects: ['role:hr'] }] };
    await createPolicy(own, { effect: 'require_approval', actions: ['refund'], approval });
    const lists = jest.spyOn(own.application.get(Database).lists, 'all').mockRejectedValue(new Error('disk'));
    const body = { action: 'refund', resourceType: 'payment', resourceId: 'orders/1' };
    const { status, headers } = await send(own, 'POST', `/api/v1/agents/${name}/execute`, { body });
    lists.mockRestore();
    expect([status, headers.get('approval-requested')]).toEqual([202, 'true']);
    expect(headers.get('approval-feasible')).toBeNull();
    await own.close();
  });

  /** The statements that read while the request runs. */
  async function statements(request: () => Promise<unknown>): Promise<number> {
    const { points, lists } = app.application.get(Database);
    const spies = [points, lists].map((connection) => jest.spyOn(connection, 'all'));
    await request();
    const count = spies.reduce((sum, { mock }) => sum + mock.calls.length, 0);
    for (const spy of spies) spy.mockRestore();
    return count;
  }

  it('take few statements, however many roles and agents the policies name, and are right for each', async () => {
    await createAgent(app, { name: 'person', kind: 'human', roles: ['role 3/7', 'role 5/0'] });
    await createAgent(app, { name: 'machine', roles: ['role 3/8'] });
    await createAgent(app, { name: 'absent', kind: 'human', roles: ['role 3/9'] });
    await send(app, 'POST', '/api/v1/agents/absent/suspend');
    const names = ['agent 1', 'absent', 'agent:machine', 'person'];
    const policies = Array.from({ length: POLICIES }, (_, policy) => ({
      ...{ name: `policy ${policy}`, version: '1', effect: 'require_approval' },
      ...{ subjects: ['*'], actions: ['*'], resources: ['*'] },
      approval: {
        approvers: [
          ...Array.from({ length: 6 }, (__, group) => ({ subjects: [`role:role ${policy}/${group + 4}`] })),
          { subjects: Array.from({ length: ROLES }, (__, role) => `role:role ${policy}/${role}`) },
          { subjects: [names[policy] ?? `agent ${policy}`] },
        ],
      },
    }));
    let warnings: string[] = [];
    const count = await statements(async () => {
      warnings = (await send(app, 'POST', '/api/v1/policies/plan', { body: { policies } })).body.warnings;
    });
    expect(count).toBeLessThan(60);
    const nobody = warnings.filter((warning) => warning.includes('No active agent matches')).length;
    // Of eight groups each: a role of the person is a group of its own and in a list, another only in a list; one agent
    // is a person and one a machine.
    expect(nobody).toBe(8 * POLICIES - 3 - 2);
    expect(warnings.filter((warning) => warning.includes('Machines can approve'))).toEqual([
      'policy 2 (version 1): Machines can approve for approval.approvers[7] (agent:machine).',
    ]);
    expect(warnings.some((warning) => warning.includes('(role:role 3/7)'))).toBe(false);
    expect(warnings.some((warning) => warning.includes('(role:role 3/8)'))).toBe(true);
    expect(warnings.some((warning) => warning.includes('(role:role 3/9)'))).toBe(true);
  });
});
