import type { AuditEntryResponse } from '../../src/evidence/audit/dto/audit-entry.response';
import { ActivePolicies } from '../../src/governance/policies/active-policies';
import type { PolicyResponse } from '../../src/governance/policies/dto/policy.dto';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { chainIsValid, createAgent, createPolicy } from '../support/application/factories';
import { type Answer, send } from '../support/application/send';

const POLICIES = '/api/v1/policies';

describe('policies in force', () => {
  let app: TestApp;

  async function start(): Promise<void> {
    app = await createTestApp();
    await createAgent(app, { name: 'bot', capabilities: ['read', 'write'], roles: ['ops', 'dev'] });
  }

  async function stop(): Promise<void> {
    await chainIsValid(app);
    await app.close();
  }

  const ask = (resourceId = 'docs/a', action = 'read', resourceType = 'file'): Promise<Answer> =>
    send(app, 'POST', '/api/v1/agents/bot/execute', { body: { action, resourceType, resourceId } });
  /** The status for each resource. */
  const statuses = async (...resources: string[]): Promise<number[]> => {
    const codes: number[] = [];
    for (const resource of resources) codes.push((await ask(resource)).status);
    return codes;
  };

  describe('one at a time', () => {
    beforeAll(start);
    afterAll(stop);

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
      const { id } = await createPolicy(app, { subjects });
      expect((await ask()).status).toBe(status);
      await send(app, 'POST', `${POLICIES}/${id}/deactivate`);
    });
  });

  describe('of their own service', () => {
    beforeEach(start);
    afterEach(stop);

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

    it('match an agent by its id, and by its name in any normal form', async () => {
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

    it('match actions exactly', async () => {
      await createPolicy(app, { actions: ['read'] });
      expect((await ask('docs/a', 'read')).status).toBe(200);
      expect((await ask('docs/a', 'write')).status).toBe(403);
    });

    it('match everything below a trailing /*, but neither the prefix itself nor a longer name', async () => {
      await createPolicy(app, { resources: ['docs/*'] });
      expect(await statuses('docs/a', 'docs/a/b', '/docs/a')).toEqual([200, 200, 200]);
      expect(await statuses('docs', 'docs2/a', 'Docs/a', 'x/docs/a')).toEqual([403, 403, 403, 403]);
    });

    it('match a path also after the type, and a name with the resource only', async () => {
      await createPolicy(app, { resources: ['/file/a', 'file/b/*', 'name', 'x/y'] });
      expect(await statuses('a', 'file/a', '/a', 'file/b/c', 'name', '/name', 'x/y')).toEqual(Array(7).fill(200));
      expect(await statuses('b', 'file', 'a/name', 'y', 'x')).toEqual(Array(5).fill(403));
      expect((await ask('a', 'read', 'other')).status).toBe(403);
    });

    it('do not allow a path because of the type that the caller chooses, unless they list that type', async () => {
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

    it('deny a path also because of its type, and however it is percent-encoded', async () => {
      await createPolicy(app);
      await createPolicy(app, { effect: 'deny', resources: ['file/b/*', 'caf\u00e9/a b', 'x/50%25'] });
      expect(await statuses('b/c', 'file/b/c', 'caf\u00e9/a%20b', 'cafe\u0301/a%2520b', 'x/50%')).toEqual(
        Array(5).fill(403),
      );
      expect(await statuses('b', 'cafe/a b', 'x/50')).toEqual(Array(3).fill(200));
    });

    it('allow a path in exactly their spelling', async () => {
      await createPolicy(app, { resources: ['caf\u00e9/a b', 'x/%3A'] });
      expect(await statuses('cafe\u0301/a b', 'x/%3A')).toEqual([200, 200]);
      expect(await statuses('caf\u00e9/a%20b', 'caf%C3%A9/a b', 'x/:')).toEqual([403, 403, 403]);
    });

    it('match resource types exactly', async () => {
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

    it("change with the commit that changes a version's status", async () => {
      const first = await createPolicy(app, { name: 'p', version: '1' });
      expect((await ask()).status).toBe(200);
      await createPolicy(app, { name: 'p', version: '2', effect: 'deny' });
      expect((await ask()).body.error.code).toBe('POLICY_DENIED');
      await send(app, 'POST', `${POLICIES}/${first.id}/activate`);
      expect((await ask()).status).toBe(200);
      await send(app, 'POST', `${POLICIES}/${first.id}/deactivate`);
      expect((await ask()).body.error.reason).toBe('no_policy_allows');
    });

    it('replace a version at once, however long that takes', async () => {
      const names = { name: 'no reading', effect: 'deny', actions: ['read'] };
      const { id } = await createPolicy(app, { ...names, version: '1' });
      const policies = app.application.get(ActivePolicies);
      const seen = new Set<string>();
      let isOver = false;
      const look = (): void => {
        seen.add(policies.inForce.policySet);
        if (!isOver) setImmediate(look);
      };
      // Work that is divided into slices yields at each step.
      const now = performance.now.bind(performance);
      let passed = 0;
      const clock = jest.spyOn(performance, 'now').mockImplementation(() => now() + (passed += 5));
      look();
      await createPolicy(app, { ...names, version: '2' });
      await send(app, 'POST', `${POLICIES}/${id}/activate`);
      isOver = true;
      clock.mockRestore();
      const { data } = (await send(app, 'GET', '/api/v1/audit?order=asc&limit=100')).body;
      const recorded: string[] = data.flatMap((entry: AuditEntryResponse) => entry.details?.['policySet'] ?? []);
      expect([...seen]).toEqual([...new Set(recorded)]);
    });

    it('name at most ten deciding policies, the oldest first', async () => {
      const made: PolicyResponse[] = [];
      for (let index = 0; index < 12; index += 1) made.push(await createPolicy(app));
      const { policies } = (await ask()).body;
      expect(policies.map(({ id }: { id: string }) => id)).toEqual(made.slice(0, 10).map(({ id }) => id));
    });
  });
});
