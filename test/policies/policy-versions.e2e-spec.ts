import type { PolicyResponse } from '../../src/governance/policies/dto/policy.dto';
import { auditOf, createPolicy, policySetOf } from '../support/application/factories';
import { type Answer, faults, send } from '../support/application/send';
import { newName, POLICIES, policyStage, RULES } from './policy-stage';

describe('policies', () => {
  const { stage, create, read, version } = policyStage();

  describe('versions', () => {
    it('can each be used once', async () => {
      const name = newName();
      await version(name, '1.0');
      const duplicate = await create({ ...RULES, name, version: '1.0' });
      expect(duplicate).toMatchObject({ status: 409, body: { error: { code: 'CONFLICT' } } });
      expect(duplicate.body.error.message).toContain('differs in: subjects');
      expect((await create({ ...RULES, name, version: '1.0.0' })).status).toBe(201);
      expect((await create({ ...RULES, name: newName(), version: '1.0' })).status).toBe(201);
    });

    it('are returned unchanged if they have the same content and are in force', async () => {
      const name = newName();
      const approval = { approvers: [{ subjects: ['role:finance'] }] };
      const condition = { parameter: '/amount', op: 'gt', value: 5 };
      const body = { ...RULES, name, version: '1', effect: 'require_approval', approval, conditions: [condition] };
      const created = await create(body);
      const filled = { ...body, priority: 0, description: null, approval: created.body.approval };
      const turned = { ...body, conditions: [{ value: 5.0, op: 'gt', parameter: '/amount' }] };
      const entries = async (): Promise<number> =>
        (await send(stage.app, 'GET', '/api/v1/stats')).body.provenanceEntries;
      const before = await entries();
      for (const same of [body, filled, turned]) {
        const again = await create(same);
        expect(again).toMatchObject({ status: 200, body: created.body });
        expect(again.headers.get('location')).toBeNull();
      }
      const headers = { 'Idempotency-Key': name.replaceAll(' ', '-') };
      const keyed = (): Promise<Answer> => send(stage.app, 'POST', POLICIES, { body, headers });
      expect([(await keyed()).status, (await keyed()).status]).toEqual([200, 200]);
      for (const [member, value] of Object.entries({
        priority: 1,
        subjects: ['*', '*'],
        approval: { riskLevel: 'high' },
      })) {
        const answer = await create({ ...body, [member]: value });
        expect(answer).toMatchObject({ status: 409, body: { error: { code: 'CONFLICT' } } });
        expect(answer.body.error.message).toContain(`differs in: ${member}`);
      }
      expect(await entries()).toBe(before);
    });

    it('have the same content with either sign of a zero, which is not stored', async () => {
      const name = newName();
      const policy = {
        ...RULES,
        name,
        version: '1',
        priority: 77,
        conditions: [{ parameter: '/a', op: 'lt', value: 77 }],
      };
      const text = JSON.stringify(policy).replaceAll('77', '-0');
      for (const status of [201, 200])
        expect((await send(stage.app, 'POST', POLICIES, { body: text })).status).toBe(status);
      const { body } = await send(stage.app, 'POST', `${POLICIES}/plan`, { body: `{"policies":[${text}]}` });
      expect(body.changes).toEqual([expect.objectContaining({ change: 'keep', name })]);
    });

    it('are 409 with a hint at activate if they have the same content but are not in force', async () => {
      const name = newName();
      const body = { ...RULES, name, version: '1', subjects: ['nobody'] };
      const { id } = (await create(body)).body;
      await version(name, '2');
      const answer = await create(body);
      expect(answer).toMatchObject({ status: 409, body: { error: { code: 'CONFLICT' } } });
      expect(answer.body.error.message).toContain(`/policies/${id}/activate`);
    });

    it('replace the one in force', async () => {
      const name = newName();
      const first = await version(name, '1');
      const second = await version(name, '2');
      expect((await read(first.id)).status).toBe('superseded');
      expect(second.status).toBe('active');
      const entries = await auditOf(stage.app, first.id);
      expect(entries.map(({ action }) => action)).toEqual(['policy.created', 'policy.superseded']);
      expect(entries[1]?.details).toEqual({
        policies: [{ id: first.id, name, version: '1' }],
        policySet: await policySetOf(stage.app),
        supersededBy: second.id,
      });
      expect((await auditOf(stage.app, second.id)).map(({ action }) => action)).toEqual(['policy.created']);
    });

    it('can be put back in force', async () => {
      const name = newName();
      const [first, second] = [await version(name, '1'), await version(name, '2')];
      const activated = await send(stage.app, 'POST', `${POLICIES}/${first.id}/activate`);
      expect(activated).toMatchObject({ status: 200, body: { id: first.id, status: 'active' } });
      expect(activated.headers.get('location')).toBeNull();
      expect((await read(second.id)).status).toBe('superseded');
      const again = await send(stage.app, 'POST', `${POLICIES}/${first.id}/activate`, { body: {} });
      expect(again).toMatchObject({ status: 200, body: activated.body });
      const actions = async ({ id }: PolicyResponse): Promise<string[]> =>
        (await auditOf(stage.app, id)).map(({ action }) => action);
      expect(await actions(first)).toEqual(['policy.created', 'policy.superseded', 'policy.activated']);
      expect(await actions(second)).toEqual(['policy.created', 'policy.superseded']);
    });

    it('can be deactivated', async () => {
      const name = newName();
      const [first, second] = [await version(name, '1'), await version(name, '2')];
      const deactivate = (id: string): Promise<Answer> => send(stage.app, 'POST', `${POLICIES}/${id}/deactivate`);
      expect(await deactivate(first.id)).toMatchObject({ status: 409, body: { error: { code: 'CONFLICT' } } });
      const inactive = await deactivate(second.id);
      expect(inactive).toMatchObject({ status: 200, body: { id: second.id, status: 'inactive' } });
      expect(await deactivate(second.id)).toMatchObject({ status: 200, body: inactive.body });
      expect((await auditOf(stage.app, second.id)).map(({ action }) => action)).toEqual([
        'policy.created',
        'policy.deactivated',
      ]);
      expect((await read(first.id)).status).toBe('superseded');
      const third = await version(name, '3');
      expect((await read(second.id)).status).toBe('inactive');
      await send(stage.app, 'POST', `${POLICIES}/${second.id}/activate`);
      expect((await read(third.id)).status).toBe('superseded');
    });

    it('are all counted', async () => {
      const count = async (): Promise<number> => (await send(stage.app, 'GET', '/api/v1/stats')).body.policies;
      const before = await count();
      const name = newName();
      await version(name, '1');
      const { id } = await version(name, '2');
      await send(stage.app, 'POST', `${POLICIES}/${id}/deactivate`);
      expect(await count()).toBe(before + 2);
    });

    it('leave exactly one in force when many race', async () => {
      const name = newName();
      const made = await Promise.all(Array.from({ length: 20 }, (_, index) => version(name, `1.${index}`)));
      await Promise.all(made.map(({ id }) => send(stage.app, 'POST', `${POLICIES}/${id}/activate`)));
      const list = await send(stage.app, 'GET', `${POLICIES}?name=${encodeURIComponent(name)}&status=active`);
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
      expect((await send(stage.app, method, `${POLICIES}/pol_nothing${action}`)).status).toBe(404);
    });

    it.each(['PUT', 'PATCH', 'DELETE'])('cannot be changed by %s', async (method) => {
      const { id } = await createPolicy(stage.app, { subjects: ['nobody'] });
      expect((await send(stage.app, method, `${POLICIES}/${id}`)).status).toBe(405);
    });

    it('take no body when they are activated or deactivated', async () => {
      const { id } = await createPolicy(stage.app, { subjects: ['nobody'] });
      const answer = await send(stage.app, 'POST', `${POLICIES}/${id}/deactivate`, { body: { reason: 'x' } });
      expect(Object.keys(faults(answer))).toEqual(['reason']);
    });
  });
});
