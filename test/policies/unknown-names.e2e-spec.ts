import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { chainIsValid, createAgent, createPolicy } from '../support/application/factories';
import { send } from '../support/application/send';

const RULES = { version: '1', effect: 'allow', subjects: ['role:support'], actions: ['refund'], resources: ['*'] };

describe('Warnings of policies that name what does not exist', () => {
  let app: TestApp;

  async function start(): Promise<void> {
    app = await createTestApp();
    const roles = ['support', 'support-bot', 'QA'];
    await createAgent(app, { name: 'clerk', roles, capabilities: ['refund', 'read_*', 'close-case'] });
    await createAgent(app, { name: 'ann', kind: 'human', roles: ['finance'] });
  }

  async function stop(): Promise<void> {
    await chainIsValid(app);
    await app.close();
  }

  async function warnings(...policies: readonly object[]): Promise<string[]> {
    const body = { policies: policies.map((policy, index) => ({ ...RULES, name: `p${index}`, ...policy })) };
    const answer = await send(app, 'POST', '/api/v1/policies/plan', { body });
    expect(answer.status).toBe(200);
    return answer.body.warnings;
  }

  describe('of plans, which change nothing,', () => {
    beforeAll(start);
    afterAll(stop);

    it.each([
      ['role:suport', 'a role', 'role:support'],
      ['role:supprot', 'a role', 'role:support'],
      ['role:Support', 'a role', 'role:support'],
      ['role:support_bot', 'a role', 'role:support-bot'],
      ['role:clerk', 'a role', 'agent:clerk'],
      ['support-bot', 'a name', 'role:support-bot'],
      ['agent:finance', 'a name', 'role:finance'],
      ['clerc', 'a name', 'agent:clerk'],
      ['role:AQ', 'a role', null],
      ['role:auditors', 'a role', null],
      ['agent:agt_01J00000000000000000000000', 'a name', null],
    ])('say that no agent has %s', async (subject, what, suggestion) => {
      const ending = suggestion === null ? '.' : `: did you mean "${suggestion}"?`;
      expect(await warnings({ subjects: ['role:support', subject] })).toEqual([
        `p0 (version 1): "${subject}" is ${what} that no agent has${ending}`,
      ]);
    });

    it.each([
      ['roles:support', 'roles', 'role:support'],
      ['Role:support', 'Role', 'role:support'],
      ['agents:clerk', 'agents', 'agent:clerk'],
      ['kinds:human', 'kinds', 'kind:human'],
      ['user:alice', null, null],
    ])('say that %s is of a type of its own, where that is like a prefix', async (subject, type, suggestion) => {
      const ending = suggestion === null ? '.' : `: did you mean "${suggestion}"?`;
      const message = `p0 (version 1): "${subject}" is a subject of the type "${type}", neither an agent nor a role${ending}`;
      expect(await warnings({ effect: 'deny', subjects: ['role:support', subject] })).toEqual(
        type === null ? [] : [message],
      );
    });

    it('suggest the likely approver', async () => {
      const approval = { approvers: [{ subjects: ['role:finace', 'role:board', 'principal', 'ann'] }] };
      const messages = await warnings({ effect: 'require_approval', approval });
      expect(messages.filter((warning) => warning.includes('an approver'))).toEqual([
        'p0 (version 1): "role:finace" is an approver, a role that no agent has: did you mean "role:finance"?',
      ]);
    });

    it.each([
      ['refnd', 'refund'],
      ['Refund', 'refund'],
      ['close_case', 'close-case'],
      ['closecase*', 'close-case'],
      ['red*', null],
      ['transfer', null],
    ])('say that no agent can %s, unless another policy names it', async (action, suggestion) => {
      const ending = suggestion === null ? '.' : `: did you mean "${suggestion}"?`;
      expect(await warnings({ actions: ['refund', action] })).toEqual([
        `p0 (version 1): "${action}" is an action that no agent is capable of and no other policy names${ending}`,
      ]);
      expect(await warnings({ actions: ['refund', action] }, { actions: [action] })).toEqual([]);
    });

    it('are not given of what somebody has, can do, or is asked as', async () => {
      const subjects = [
        '*',
        'agent:*',
        'role:*',
        'kind:human',
        'role:support',
        'clerk',
        'agent:ann',
        'user:al',
        'user:*',
      ];
      const actions = [
        '*',
        'refund',
        're*',
        'read_*',
        'read_',
        'read_mail',
        'read_mail_*',
        'close-case',
        'decision:approve',
      ];
      expect(await warnings({ subjects, actions })).toEqual([]);
      expect(await warnings({ subjects: ['user:al'], actions: ['transfer'] })).toEqual([]);
      expect(await warnings({ actions: ['trans*'] }, { actions: ['transfer'] })).toEqual([]);
    });

    it('name each once, and the first policies that have it', async () => {
      const same = { subjects: ['role:suport'], actions: ['refund', 'refund'] };
      expect(await warnings(same, same)).toEqual([
        'p0 (version 1), p1 (version 1): "role:suport" is a role that no agent has: did you mean "role:support"?',
      ]);
      expect((await warnings(same, same, same, same, same))[0]).toMatch(/^p0 .*, p1 .*, p2 \(version 1\) and 2 more: /);
    });
  });

  describe('of policies that come into force', () => {
    beforeEach(start);
    afterEach(stop);

    it('are those of a policy that is created, too', async () => {
      const approval = { approvers: [{ subjects: ['role:finace'] }] };
      const headers = { 'Idempotency-Key': 'once' };
      const other = { ...RULES, name: 'other', actions: ['read_mail', 'archive'] };
      await createPolicy(app, other);
      const rules = { subjects: ['role:suport'], actions: ['refnd', 'archive'], effect: 'require_approval', approval };
      const [planned, { body }] = [
        await warnings(rules),
        await send(app, 'POST', '/api/v1/policies', { body: { ...RULES, name: 'p0', ...rules }, headers }),
      ];
      const again = await send(app, 'POST', '/api/v1/policies', { body: { ...RULES, name: 'p0', ...rules }, headers });
      expect(again.body).toEqual(body);
      expect(body.warnings.map((warning: string) => `p0 (version 1): ${warning}`)).toEqual(planned);
      expect(body.warnings).toEqual([
        'No active agent matches approval.approvers[0] (role:finace).',
        '"role:suport" is a role that no agent has: did you mean "role:support"?',
        '"role:finace" is an approver, a role that no agent has: did you mean "role:finance"?',
        '"refnd" is an action that no agent is capable of and no other policy names: did you mean "refund"?',
      ]);
    });

    it('are given of actions once there are agents', async () => {
      await app.close();
      app = await createTestApp();
      expect(await warnings({ subjects: ['*', 'role:support'] })).toEqual([
        'p0 (version 1): "role:support" is a role that no agent has.',
      ]);
    });

    it('concern what comes into force, and appear once', async () => {
      const old = await createPolicy(app, { ...RULES, name: 'old', subjects: ['role:suport'], actions: ['transfer'] });
      expect(old.warnings).toHaveLength(2);
      expect(await warnings({ actions: ['transfer'] })).toEqual([]);
      await createPolicy(app, { ...RULES, name: 'old', version: '2' });
      expect(await warnings({ ...RULES, name: 'old', subjects: ['role:suport'], actions: ['transfer'] })).toHaveLength(
        2,
      );
      await createAgent(app, { name: 'late', roles: ['suport'], capabilities: ['transfer'] });
      expect(await warnings({ ...RULES, name: 'old', subjects: ['role:suport'], actions: ['transfer'] })).toEqual([]);
    });

    it.each([
      ['lt', 100, true],
      ['lte', { parameter: '/due' }, true],
      ['eq', 100, false],
      ['gt', 100, false],
      ['not_in', [100], false],
    ])('say at creation that only %s bounds an amount', async (op, value, isWarned) => {
      const text = '/amount has an upper bound and no lower one: zero and negative numbers are allowed.';
      const expected = isWarned ? [expect.stringContaining(text)] : [];
      const limit = { parameter: '/amount', op, value };
      const limited = { ...RULES, name: 'limited', conditions: [limit, { parameter: '/due', op: 'gte', value: 0 }] };
      expect((await createPolicy(app, limited)).warnings).toEqual(expected);
      expect((await warnings({ ...limited, version: '2' })).length).toBe(expected.length);
      const limits = [{ max: 500, of: '/amount', per: 'day', by: 'agent' }];
      expect((await createPolicy(app, { ...limited, name: 'used up', limits })).warnings).toEqual([]);
      for (const [index, bound] of [
        { parameter: '/amount', op: 'gt', value: 0 },
        { parameter: '/amount', op: 'gte', value: { parameter: '/due' } },
      ].entries()) {
        const bounded = { ...limited, name: `bounded ${index}`, conditions: [limit, bound] };
        expect((await createPolicy(app, bounded)).warnings).toEqual([]);
      }
      for (const effect of ['deny', 'require_approval'])
        expect((await createPolicy(app, { ...limited, name: effect, effect })).warnings.join()).not.toContain(
          '/amount',
        );
    });
  });
});
