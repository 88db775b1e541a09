import type { PolicyResponse } from '../../src/policies/dto/policy.response';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { auditOf, chainIsValid, createAgent, createPolicy, policySetOf } from '../support/application/factories';
import { type Answer, faults, send } from '../support/application/send';

const POLICIES = '/api/v1/policies';
const RULES = { effect: 'allow', subjects: ['*'], actions: ['*'], resources: ['*'] };

describe('policies', () => {
  let app: TestApp;
  let number = 0;

  beforeAll(async () => {
    app = await createTestApp();
  });
  afterAll(async () => {
    await chainIsValid(app);
    await app.close();
  });

  const newName = (): string => `policy of this test ${(number += 1)}`;
  const create = (body: Record<string, unknown>): Promise<Answer> => send(app, 'POST', POLICIES, { body });
  const read = async (id: string): Promise<PolicyResponse> => (await send(app, 'GET', `${POLICIES}/${id}`)).body;
  const version = (name: string, label: string): Promise<PolicyResponse> =>
    createPolicy(app, { name, version: label, subjects: ['nobody'] });

  describe('creation', () => {
    it('fills in what may be left out and answers with the whole record', async () => {
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
        approval: null,
        status: 'active',
        warnings: [],
        createdAt: expect.stringMatching(/Z$/),
      });
      expect(created.headers.get('location')).toBe(`${POLICIES}/${created.body.id}`);
      expect(created.headers.get('etag')).toBeNull();
      expect(await read(created.body.id)).toEqual(created.body);
    });

    it('takes everything at its limits', async () => {
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

    it('takes a pattern twice', async () => {
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

    it('warns of subjects that match nothing', async () => {
      const subjects = ['role:ops', 'user:x', 'user:*', 'agent:user:x', 'Role:ops', 'user:x\u200b', 'kind:human'];
      const { warnings, subjects: stored } = await createPolicy(app, { subjects });
      expect(stored).toEqual(subjects);
      expect(warnings).toEqual([expect.stringContaining('"user:x\u200b"')]);
    });

    it('warns of a subject that reads as another than the agent of that name', async () => {
      await createAgent(app, { name: 'team:caf\u00e9' });
      const subjects = ['team:cafe\u0301', 'agent:team:caf\u00e9', 'team:other', 'team:*'];
      const { id, warnings } = await createPolicy(app, { effect: 'deny', subjects });
      expect(warnings).toEqual([
        '"team:cafe\u0301" means "caf\u00e9" of the type "team", not the agent with that name, which is "agent:team:cafe\u0301".',
      ]);
      await send(app, 'POST', `/api/v1/policies/${id}/deactivate`);
    });

    it('warns of roles and actions that no agent can have', async () => {
      const { warnings } = await createPolicy(app, {
        subjects: ['role:ops\u200b', 'role: ops', 'role:ops'],
        actions: ['send ', 'send', '*'],
      });
      expect(warnings).toEqual([
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
      const { warnings } = await createPolicy(app, { subjects: [subject, 'agent:invoice-bot'] });
      expect(warnings).toEqual([`"${subject}" matches nothing: the name of an agent ${rule}.`]);
    });

    it('leaves an entry that names the policy', async () => {
      const { id, name } = await createPolicy(app, { subjects: ['nobody'] });
      expect(await auditOf(app, id)).toEqual([
        expect.objectContaining({
          action: 'policy.created',
          subjectType: 'policy',
          agentId: null,
          entityId: null,
          outcome: 'success',
          details: { policies: [{ id, name, version: '1.0' }], policySet: await policySetOf(app) },
        }),
      ]);
    });
  });

  describe('versions', () => {
    it('are each given once', async () => {
      const name = newName();
      await version(name, '1.0');
      const taken = await create({ ...RULES, name, version: '1.0' });
      expect(taken).toMatchObject({ status: 409, body: { error: { code: 'CONFLICT' } } });
      expect(taken.body.error.message).toContain('another subjects');
      expect((await create({ ...RULES, name, version: '1.0.0' })).status).toBe(201);
      expect((await create({ ...RULES, name: newName(), version: '1.0' })).status).toBe(201);
    });

    it('are answered as they stand where they say the same and are in force', async () => {
      const name = newName();
      const approval = { approvers: [{ subjects: ['role:finance'] }] };
      const condition = { parameter: '/amount', op: 'gt', value: 5 };
      const body = { ...RULES, name, version: '1', effect: 'require_approval', approval, conditions: [condition] };
      const created = await create(body);
      const filled = { ...body, priority: 0, description: null, approval: created.body.approval };
      const turned = { ...body, conditions: [{ value: 5.0, op: 'gt', parameter: '/amount' }] };
      const entries = async (): Promise<number> => (await send(app, 'GET', '/api/v1/stats')).body.provenanceEntries;
      const before = await entries();
      for (const same of [body, filled, turned]) {
        const again = await create(same);
        expect(again).toMatchObject({ status: 200, body: created.body });
        expect(again.headers.get('location')).toBeNull();
      }
      const headers = { 'Idempotency-Key': name.replaceAll(' ', '-') };
      const keyed = (): Promise<Answer> => send(app, 'POST', POLICIES, { body, headers });
      expect([(await keyed()).status, (await keyed()).status]).toEqual([200, 200]);
      for (const [member, value] of Object.entries({
        priority: 1,
        subjects: ['*', '*'],
        approval: { riskLevel: 'high' },
      })) {
        const answer = await create({ ...body, [member]: value });
        expect(answer).toMatchObject({ status: 409, body: { error: { code: 'CONFLICT' } } });
        expect(answer.body.error.message).toContain(`another ${member}`);
      }
      expect(await entries()).toBe(before);
    });

    it('are named with what puts them back where they say the same and are not in force', async () => {
      const name = newName();
      const body = { ...RULES, name, version: '1', subjects: ['nobody'] };
      const { id } = (await create(body)).body;
      await version(name, '2');
      const answer = await create(body);
      expect(answer).toMatchObject({ status: 409, body: { error: { code: 'CONFLICT' } } });
      expect(answer.body.error.message).toContain(`/policies/${id}/activate`);
    });

    it('take the place of the one in force', async () => {
      const name = newName();
      const first = await version(name, '1');
      const second = await version(name, '2');
      expect((await read(first.id)).status).toBe('superseded');
      expect(second.status).toBe('active');
      const entries = await auditOf(app, first.id);
      expect(entries.map(({ action }) => action)).toEqual(['policy.created', 'policy.superseded']);
      expect(entries[1]?.details).toEqual({
        policies: [{ id: first.id, name, version: '1' }],
        policySet: await policySetOf(app),
        supersededBy: second.id,
      });
      expect((await auditOf(app, second.id)).map(({ action }) => action)).toEqual(['policy.created']);
    });

    it('can be put back in force', async () => {
      const name = newName();
      const [first, second] = [await version(name, '1'), await version(name, '2')];
      const activated = await send(app, 'POST', `${POLICIES}/${first.id}/activate`);
      expect(activated).toMatchObject({ status: 200, body: { id: first.id, status: 'active' } });
      expect(activated.headers.get('location')).toBeNull();
      expect((await read(second.id)).status).toBe('superseded');
      const again = await send(app, 'POST', `${POLICIES}/${first.id}/activate`, { body: {} });
      expect(again).toMatchObject({ status: 200, body: activated.body });
      const actions = async ({ id }: PolicyResponse): Promise<string[]> =>
        (await auditOf(app, id)).map(({ action }) => action);
      expect(await actions(first)).toEqual(['policy.created', 'policy.superseded', 'policy.activated']);
      expect(await actions(second)).toEqual(['policy.created', 'policy.superseded']);
    });

    it('can be taken out of force', async () => {
      const name = newName();
      const [first, second] = [await version(name, '1'), await version(name, '2')];
      const deactivate = (id: string): Promise<Answer> => send(app, 'POST', `${POLICIES}/${id}/deactivate`);
      expect(await deactivate(first.id)).toMatchObject({ status: 409, body: { error: { code: 'CONFLICT' } } });
      const inactive = await deactivate(second.id);
      expect(inactive).toMatchObject({ status: 200, body: { id: second.id, status: 'inactive' } });
      expect(await deactivate(second.id)).toMatchObject({ status: 200, body: inactive.body });
      expect((await auditOf(app, second.id)).map(({ action }) => action)).toEqual([
        'policy.created',
        'policy.deactivated',
      ]);
      expect((await read(first.id)).status).toBe('superseded');
      const third = await version(name, '3');
      expect((await read(second.id)).status).toBe('inactive');
      await send(app, 'POST', `${POLICIES}/${second.id}/activate`);
      expect((await read(third.id)).status).toBe('superseded');
    });

    it('are all counted', async () => {
      const count = async (): Promise<number> => (await send(app, 'GET', '/api/v1/stats')).body.policies;
      const before = await count();
      const name = newName();
      await version(name, '1');
      const { id } = await version(name, '2');
      await send(app, 'POST', `${POLICIES}/${id}/deactivate`);
      expect(await count()).toBe(before + 2);
    });

    it('leave exactly one in force, whatever races', async () => {
      const name = newName();
      const made = await Promise.all(Array.from({ length: 20 }, (_, index) => version(name, `1.${index}`)));
      await Promise.all(made.map(({ id }) => send(app, 'POST', `${POLICIES}/${id}/activate`)));
      const list = await send(app, 'GET', `${POLICIES}?name=${encodeURIComponent(name)}&status=active`);
      expect(list.body.total).toBe(1);
      const same = await Promise.all(
        Array.from({ length: 20 }, () => create({ ...RULES, name, version: '2', subjects: ['x'] })),
      );
      expect(same.map(({ status }) => status).sort()).toEqual([...Array.from({ length: 19 }, () => 200), 201]);
      const other = await Promise.all(
        Array.from({ length: 20 }, (_, index) => create({ ...RULES, name, version: '3', subjects: [`x${index}`] })),
      );
      expect(other.map(({ status }) => status).sort()).toEqual([201, ...Array.from({ length: 19 }, () => 409)]);
    });

    it.each(['', '/activate', '/deactivate'])('answer 404 for an unknown one (%s)', async (action) => {
      const method = action === '' ? 'GET' : 'POST';
      expect((await send(app, method, `${POLICIES}/pol_nothing${action}`)).status).toBe(404);
    });

    it.each(['PUT', 'PATCH', 'DELETE'])('are not changed by %s', async (method) => {
      const { id } = await createPolicy(app, { subjects: ['nobody'] });
      expect((await send(app, method, `${POLICIES}/${id}`)).status).toBe(405);
    });

    it('take no body to change force', async () => {
      const { id } = await createPolicy(app, { subjects: ['nobody'] });
      const answer = await send(app, 'POST', `${POLICIES}/${id}/deactivate`, { body: { reason: 'x' } });
      expect(Object.keys(faults(answer))).toEqual(['reason']);
    });
  });

  describe('lists', () => {
    it('filter by name, status and effect', async () => {
      const name = newName();
      const first = await createPolicy(app, { name, version: '1', effect: 'deny', subjects: ['nobody'] });
      const second = await version(name, '2');
      const ids = async (query: string): Promise<string[]> => {
        const { body } = await send(app, 'GET', `${POLICIES}?name=${encodeURIComponent(name)}&${query}`);
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
      expect((await send(app, 'GET', `${POLICIES}?${query}`)).status).toBe(400);
    });
  });
});

describe('policies in force', () => {
  let app: TestApp;

  beforeEach(async () => {
    app = await createTestApp();
    await createAgent(app, { name: 'bot', capabilities: ['read', 'write'], roles: ['ops', 'dev'] });
  });
  afterEach(async () => {
    await chainIsValid(app);
    await app.close();
  });

  const ask = (resourceId = 'docs/a', action = 'read', resourceType = 'file'): Promise<Answer> =>
    send(app, 'POST', '/api/v1/agents/bot/execute', { body: { action, resourceType, resourceId } });
  /** The status each resource is answered with. */
  const statuses = async (...resources: string[]): Promise<number[]> => {
    const found: number[] = [];
    for (const resource of resources) found.push((await ask(resource)).status);
    return found;
  };

  it.each([
    [['*'], 200],
    [['role:ops'], 200],
    [['role:*'], 200],
    [['role:other'], 403],
    [['role:op'], 403],
    [['agent:bot'], 200],
    [['agent:*'], 200],
    [['bot'], 200],
    [['Bot'], 403],
    [['user:bot'], 403],
    [['user:bot', 'role:dev'], 200],
  ])('take the subjects %j', async (subjects, status) => {
    await createPolicy(app, { subjects });
    expect((await ask()).status).toBe(status);
  });

  it('compare URLs with the resourceId alone', async () => {
    await createPolicy(app, { resources: ['https://h/*', 's3://reports/2026', 'web/*'], resourceTypes: ['web'] });
    await createPolicy(app, { effect: 'deny', resources: ['https://h/admin/*'] });
    const read = async (resourceId: string, type = 'web'): Promise<number> =>
      (await ask(resourceId, 'read', type)).status;
    for (const allowed of ['https://h/v1/users', 's3://reports/2026']) expect(await read(allowed)).toBe(200);
    for (const other of [
      'https://h/admin/users',
      'https://h:8443/v1',
      'http://h/v1',
      's3://reports/2027',
      'ftp://web/a',
    ])
      expect(await read(other)).toBe(403);
    expect(await read('https://h/v1', 'page')).toBe(403);
    for (const unclear of ['https://H/v1', 'https://h', 'https://h:443/v1', 'https://h/admin;x/a'])
      expect(await read(unclear)).toBe(400);
  });

  it('take an agent by its id, and by its name in any normal form', async () => {
    const { id } = await createAgent(app, { name: 'caf\u00e9', capabilities: ['read'] });
    const execute = async (): Promise<number> =>
      (
        await send(app, 'POST', `/api/v1/agents/${id}/execute`, {
          body: { action: 'read', resourceType: 'file', resourceId: 'a' },
        })
      ).status;
    const { id: byId } = await createPolicy(app, { subjects: [id] });
    expect(await execute()).toBe(200);
    await send(app, 'POST', `${POLICIES}/${byId}/deactivate`);
    expect(await execute()).toBe(403);
    for (const subject of ['cafe\u0301', 'agent:cafe\u0301', `agent:${id}`]) {
      await createPolicy(app, { name: 'by name', version: `1.${subject.length}`, subjects: [subject] });
      expect(await execute()).toBe(200);
    }
    await createPolicy(app, { name: 'by name', version: '2', subjects: ['role:*'] });
    expect(await execute()).toBe(403);
  });

  it('take actions exactly', async () => {
    await createPolicy(app, { actions: ['read'] });
    expect((await ask('docs/a', 'read')).status).toBe(200);
    expect((await ask('docs/a', 'write')).status).toBe(403);
  });

  it('take everything below a trailing /*, not the prefix, not a longer neighbour', async () => {
    await createPolicy(app, { resources: ['docs/*'] });
    expect(await statuses('docs/a', 'docs/a/b', '/docs/a')).toEqual([200, 200, 200]);
    expect(await statuses('docs', 'docs2/a', 'Docs/a', 'x/docs/a')).toEqual([403, 403, 403, 403]);
  });

  it('compare a path also behind the type, and a name with the resource alone', async () => {
    await createPolicy(app, { resources: ['/file/a', 'file/b/*', 'name', 'x/y'] });
    expect(await statuses('a', 'file/a', '/a', 'file/b/c', 'name', '/name', 'x/y')).toEqual(Array(7).fill(200));
    expect(await statuses('b', 'file', 'a/name', 'y', 'x')).toEqual(Array(5).fill(403));
    expect((await ask('a', 'read', 'other')).status).toBe(403);
  });

  it('do not allow a path for the type that the caller puts before it, unless they list that type', async () => {
    await createPolicy(app, { resources: ['invoices/*'] });
    const contract = (): Promise<Answer> => ask('contracts/7', 'read', 'invoices');
    expect((await ask('7', 'read', 'invoices')).status).toBe(200);
    expect((await ask('/7', 'read', 'invoices')).status).toBe(200);
    expect((await ask('invoices/7', 'read', 'contracts')).status).toBe(200);
    const refused = await contract();
    expect(refused).toMatchObject({ status: 403, body: { error: { reason: 'no_policy_allows' } } });
    expect(refused.body.error.message).toContain(
      'the resource "contracts/7" of the type "invoices", or "invoices/contracts/7" with that type among its resourceTypes',
    );
    const listing = await createPolicy(app, { resources: ['invoices/*'], resourceTypes: ['invoices'] });
    expect((await contract()).body.policies.map(({ id }: { id: string }) => id)).toEqual([listing.id]);
  });

  it('deny a path also for the type before it, and whatever is percent-encoded in it', async () => {
    await createPolicy(app);
    await createPolicy(app, { effect: 'deny', resources: ['file/b/*', 'caf\u00e9/a b', 'x/50%25'] });
    expect(await statuses('b/c', 'file/b/c', 'caf\u00e9/a%20b', 'cafe\u0301/a%2520b', 'x/50%')).toEqual(
      Array(5).fill(403),
    );
    expect(await statuses('b', 'cafe/a b', 'x/50')).toEqual(Array(3).fill(200));
  });

  it('allow a path as it is spelled', async () => {
    await createPolicy(app, { resources: ['caf\u00e9/a b', 'x/%3A'] });
    expect(await statuses('cafe\u0301/a b', 'x/%3A')).toEqual([200, 200]);
    expect(await statuses('caf\u00e9/a%20b', 'caf%C3%A9/a b', 'x/:')).toEqual([403, 403, 403]);
  });

  it('take resource types exactly', async () => {
    await createPolicy(app, { resourceTypes: ['file', 'mail'] });
    expect((await ask('a', 'read', 'file')).status).toBe(200);
    expect((await ask('a', 'read', 'File')).status).toBe(403);
  });

  it('decide by the highest priority, and there deny beats allow', async () => {
    const allowed = await createPolicy(app, { priority: 1 });
    const denied = await createPolicy(app, { priority: 1, effect: 'deny', resources: ['docs/*'] });
    expect((await ask('other')).body.policies).toEqual([
      { id: allowed.id, name: allowed.name, version: '1.0', effect: 'allow' },
    ]);
    const refusal = await ask();
    expect(refusal).toMatchObject({
      status: 403,
      body: {
        error: {
          code: 'POLICY_DENIED',
          reason: 'policy_denied',
          policy: { id: denied.id, name: denied.name, version: '1.0' },
        },
      },
    });
    expect(refusal.body.error.message).toContain(denied.name);
    const higher = await createPolicy(app, { priority: 2, resources: ['docs/a'] });
    expect((await ask()).body.policies.map(({ id }: { id: string }) => id)).toEqual([higher.id]);
    expect((await ask('docs/b')).status).toBe(403);
  });

  it('are those of the versions in force, from the commit that changes it', async () => {
    const first = await createPolicy(app, { name: 'p', version: '1' });
    expect((await ask()).status).toBe(200);
    await createPolicy(app, { name: 'p', version: '2', effect: 'deny' });
    expect((await ask()).body.error.code).toBe('POLICY_DENIED');
    await send(app, 'POST', `${POLICIES}/${first.id}/activate`);
    expect((await ask()).status).toBe(200);
    await send(app, 'POST', `${POLICIES}/${first.id}/deactivate`);
    expect((await ask()).body.error.reason).toBe('no_policy_allows');
  });

  it('name at most ten deciding policies, the oldest first', async () => {
    const made: PolicyResponse[] = [];
    for (let index = 0; index < 12; index += 1) made.push(await createPolicy(app));
    const { policies } = (await ask()).body;
    expect(policies.map(({ id }: { id: string }) => id)).toEqual(made.slice(0, 10).map(({ id }) => id));
  });
});
