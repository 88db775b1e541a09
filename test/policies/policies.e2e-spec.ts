import type { PolicyResponse } from '../../src/governance/policies/dto/policy.dto';
import { auditOf, createAgent, createPolicy, policySetOf } from '../support/application/factories';
import { faults, send } from '../support/application/send';
import { newName, POLICIES, policyStage, RULES } from './policy-stage';

/** Not of names that nothing has yet. */
const isOfForm = (warning: string): boolean => !/ that no agent |neither an agent/.test(warning);

describe('policies', () => {
  const { stage, create, read, version } = policyStage();

  describe('creation', () => {
    it('fills in optional members and returns the whole record', async () => {
      const name = newName();
      const created = await create({ ...RULES, name, version: '1.0' });
      expect(created.status).toBe(201);
      expect(created.body).toEqual({
        id: expect.stringMatching(/^pol_[0-9A-HJKMNP-TV-Z]{26}$/),
        name,
        version: '1.0',
        description: '',
        ...RULES,
        resourceTypes: [],
        priority: 0,
        conditions: [],
        onBehalfOf: null,
        limits: [],
        approval: null,
        team: null,
        status: 'active',
        warnings: [],
        createdAt: expect.stringMatching(/Z$/),
      });
      expect(created.headers.get('location')).toBe(`${POLICIES}/${created.body.id}`);
      expect(created.headers.get('etag')).toBeNull();
      expect(await read(created.body.id)).toEqual(created.body);
    });

    it('accepts every member at its limit', async () => {
      const body = {
        ...RULES,
        effect: 'deny',
        name: '😀'.repeat(200),
        version: `${'1.'.repeat(24)}1a`,
        description: 'd'.repeat(2000),
        subjects: Array.from({ length: 100 }, (_, index) => `agent:${index}`.padEnd(500, 'x')),
        actions: Array.from({ length: 100 }, (_, index) => `a${index}`.padEnd(500, 'x')),
        resources: Array.from({ length: 100 }, (_, index) => `r${index}/`.padEnd(498, 'x') + '/*'),
        resourceTypes: Array.from({ length: 100 }, (_, index) => `t${index}`.padEnd(100, 'x')),
        priority: 2 ** 31 - 1,
      };
      const created = await create(body);
      expect(created).toMatchObject({ status: 201, body });
      expect(await read(created.body.id)).toEqual(created.body);
      const least = {
        ...RULES,
        name: newName(),
        version: '1',
        priority: -(2 ** 31),
        description: null,
        resourceTypes: null,
      };
      expect(await create(least)).toMatchObject({ status: 201, body: { priority: -(2 ** 31), resourceTypes: [] } });
    });

    it('accepts a pattern twice', async () => {
      expect((await create({ ...RULES, name: newName(), version: '1', actions: ['a', 'a'] })).status).toBe(201);
    });

    it.each(['1', '1.0', '2.1.0-rc.1', '2026-11-20', 'a+b', 'V1'])('takes the version %s', async (label) => {
      expect((await create({ ...RULES, name: newName(), version: label })).status).toBe(201);
    });

    it.each(['', ' ', '.1', '1.', '1..0', '1 0', '1_0', 'v1.0\n', 'é', '1'.repeat(51), 1.0, null, undefined])(
      'refuses the version %j',
      async (label) => {
        const answer = await create({ ...RULES, name: newName(), version: label });
        expect(answer.status).toBe(400);
        expect(Object.keys(faults(answer))).toEqual(['version']);
      },
    );

    const FAULTY: [string, unknown, string][] = [
      ['name', '', 'name'],
      ['name', 'x'.repeat(201), 'name'],
      ['description', 'x'.repeat(2001), 'description'],
      ['effect', 'permit', 'effect'],
      ['subjects', ['kind:person'], 'subjects[0]'],
      ['approval', {}, 'approval'],
      ['effect', 'Allow', 'effect'],
      ['priority', 2 ** 31, 'priority'],
      ['priority', -(2 ** 31) - 1, 'priority'],
      ['priority', 1.5, 'priority'],
      ['priority', '1', 'priority'],
      ['status', 'inactive', 'status'],
      ['subjects', [], 'subjects'],
      ['subjects', 'role:x', 'subjects'],
      ['subjects', Array.from({ length: 101 }, (_, index) => `s${index}`), 'subjects'],
      ['subjects', ['*', 'role:'], 'subjects[1]'],
      ['subjects', ['agent:'], 'subjects[0]'],
      ['subjects', ['user:'], 'subjects[0]'],
      ['subjects', ['role:a*'], 'subjects[0]'],
      ['subjects', ['a*'], 'subjects[0]'],
      ['subjects', ['user:a*'], 'subjects[0]'],
      ['subjects', ['**'], 'subjects[0]'],
      ['subjects', ['x'.repeat(501)], 'subjects[0]'],
      ['subjects', [7], 'subjects[0]'],
      ['subjects', [null], 'subjects[0]'],
      ['subjects', [' '], 'subjects[0]'],
      ['actions', [], 'actions'],
      ['actions', ['read', 'wr*te'], 'actions[1]'],
      ['actions', ['*.*'], 'actions[0]'],
      ['resources', [], 'resources'],
      ['resources', ['*', 'docs*'], 'resources[1]'],
      ['resources', ['docs/*/a'], 'resources[0]'],
      ['resources', ['*/docs'], 'resources[0]'],
      ['resources', ['docs/**'], 'resources[0]'],
      ['resources', ['docs/'], 'resources[0]'],
      ['resources', ['/'], 'resources[0]'],
      ['resources', ['//docs'], 'resources[0]'],
      ['resources', ['a//b'], 'resources[0]'],
      ['resources', ['a//*'], 'resources[0]'],
      ['resources', ['../a'], 'resources[0]'],
      ['resources', ['a/./b/*'], 'resources[0]'],
      ['resources', ['a/%2e%2E/b'], 'resources[0]'],
      ['resources', ['a/%252e%252e'], 'resources[0]'],
      ['resources', ['a\tb'], 'resources[0]'],
      ['resources', ['a%0ab'], 'resources[0]'],
      ['resources', ['docs/a', 'docs%2Fa'], 'resources[1]'],
      ['resources', ['%64ocs/*'], 'resources[0]'],
      ['resources', ['docs/%2561'], 'resources[0]'],
      ['resources', ['docs/%c0%af/*'], 'resources[0]'],
      ['resourceTypes', ['a', '%61'], 'resourceTypes[1]'],
      ['resourceTypes', ['a%2fb'], 'resourceTypes[0]'],
      ['resourceTypes', ['a/b'], 'resourceTypes[0]'],
      ['resourceTypes', ['..'], 'resourceTypes[0]'],
      ['resourceTypes', ['a', '*'], 'resourceTypes[1]'],
      ['resourceTypes', ['a*'], 'resourceTypes[0]'],
      ['resources', ['https://example.com/a', 'https://example.com'], 'resources[1]'],
      ['resources', ['https://*/a'], 'resources[0]'],
      ['resources', ['https://Example.com/*'], 'resources[0]'],
      ['resourceTypes', ['https://example.com/a'], 'resourceTypes[0]'],
      ['resourceTypes', ['x'.repeat(101)], 'resourceTypes[0]'],
      ['resourceTypes', Array.from({ length: 101 }, String), 'resourceTypes'],
    ];
    it.each(FAULTY)('refuses %s %j', async (member, value, field) => {
      const answer = await create({ ...RULES, name: newName(), version: '1', [member]: value });
      expect(answer).toMatchObject({ status: 400, body: { error: { code: 'VALIDATION_ERROR' } } });
      expect(Object.keys(faults(answer))).toEqual([field]);
    });

    it('names every member that is missing', async () => {
      expect(Object.keys(faults(await create({}))).sort()).toEqual(
        ['name', 'version', 'effect', 'subjects', 'actions', 'resources'].sort(),
      );
    });

    it('warns about subjects that match nothing', async () => {
      const subjects = ['role:ops', 'user:x', 'user:*', 'agent:user:x', 'Role:ops', 'user:x\u200b', 'kind:human'];
      const { warnings, subjects: stored } = await createPolicy(stage.app, { subjects });
      expect(stored).toEqual(subjects);
      expect(warnings.filter(isOfForm)).toEqual([expect.stringContaining('"user:x\u200b"')]);
    });

    it('warns about a subject that means something other than the agent of that name', async () => {
      await createAgent(stage.app, { name: 'team:caf\u00e9' });
      const subjects = ['team:cafe\u0301', 'agent:team:caf\u00e9', 'team:other', 'team:*'];
      const { id, warnings } = await createPolicy(stage.app, { effect: 'deny', subjects });
      expect(warnings).toEqual([
        '"team:cafe\u0301" means "caf\u00e9" of the type "team", not the agent with that name, which is "agent:team:cafe\u0301".',
      ]);
      await send(stage.app, 'POST', `/api/v1/policies/${id}/deactivate`);
    });

    it('warns about roles and actions that no agent can have', async () => {
      const { warnings } = await createPolicy(stage.app, {
        subjects: ['role:ops\u200b', 'role: ops', 'role:ops'],
        actions: ['send ', 'send', '*'],
      });
      expect(warnings.filter(isOfForm)).toEqual([
        '"role:ops\u200b" matches nothing: a role must not contain control or format characters.',
        '"role: ops" matches nothing: a role must not begin or end with white space.',
        '"send " matches nothing: an action must not begin or end with white space.',
      ]);
    });

    it.each([
      ['an invisible character', 'agent:caf\u00e9\u200b', 'must not contain control or format characters'],
      ['white space', 'agent: invoice-bot', 'must not begin or end with white space'],
      ['a slash', 'team/invoice-bot', 'must not contain "/" or "*"'],
    ])('is warned of where no agent can have the name, for %s', async (_why, subject, rule) => {
      const { warnings } = await createPolicy(stage.app, { subjects: [subject, 'agent:invoice-bot'] });
      expect(warnings.filter(isOfForm)).toEqual([`"${subject}" matches nothing: the name of an agent ${rule}.`]);
    });

    it('leaves an entry that names the policy', async () => {
      const { id, name } = await createPolicy(stage.app, { subjects: ['nobody'] });
      expect(await auditOf(stage.app, id)).toEqual([
        expect.objectContaining({
          action: 'policy.created',
          subjectType: 'policy',
          agentId: null,
          entityId: null,
          outcome: 'success',
          details: { policies: [{ id, name, version: '1.0' }], policySet: await policySetOf(stage.app) },
        }),
      ]);
    });
  });

  describe('lists', () => {
    it('filter by name, status and effect', async () => {
      const name = newName();
      const first = await createPolicy(stage.app, { name, version: '1', effect: 'deny', subjects: ['nobody'] });
      const second = await version(name, '2');
      const ids = async (query: string): Promise<string[]> => {
        const { body } = await send(stage.app, 'GET', `${POLICIES}?name=${encodeURIComponent(name)}&${query}`);
        return body.data.map(({ id }: PolicyResponse) => id);
      };
      expect(await ids('limit=50')).toEqual([first.id, second.id]);
      expect(await ids('order=desc')).toEqual([second.id, first.id]);
      expect(await ids('status=superseded')).toEqual([first.id]);
      expect(await ids('effect=allow')).toEqual([second.id]);
      expect(await ids('effect=deny&status=active')).toEqual([]);
      expect(await ids('effect=require_approval')).toEqual([]);
    });

    it.each(['status=gone', 'effect=permit', 'priority=1', 'name='])('refuse ?%s', async (query) => {
      expect((await send(stage.app, 'GET', `${POLICIES}?${query}`)).status).toBe(400);
    });
  });
});
