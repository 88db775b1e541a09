import { auditOf, createAgent } from '../support/application/factories';
import { faults, send } from '../support/application/send';
import { AGENTS, agentStage, newName } from './agent-stage';

describe('agents', () => {
  const stage = agentStage();

  describe('update', () => {
    it('changes what is given and nothing else', async () => {
      const agent = await createAgent(stage.app, {
        name: newName(),
        description: 'old',
        capabilities: ['a'],
        roles: ['r'],
      });
      const updated = await send(stage.app, 'PATCH', `${AGENTS}/${agent.id}`, { body: { capabilities: ['b', 'a'] } });
      expect(updated.status).toBe(200);
      expect(updated.headers.get('etag')).toBe('"2"');
      expect(updated.body).toEqual({
        ...agent,
        capabilities: ['b', 'a'],
        revision: 2,
        updatedAt: updated.body.updatedAt,
      });
      expect(updated.body.updatedAt >= agent.updatedAt).toBe(true);
      expect((await send(stage.app, 'GET', `${AGENTS}/${agent.id}`)).body).toEqual(updated.body);
      const byName = await send(stage.app, 'PATCH', `${AGENTS}/${encodeURIComponent(agent.name)}`, {
        body: { description: '', roles: [], capabilities: null },
      });
      expect(byName.body).toMatchObject({ description: '', roles: [], capabilities: ['b', 'a'], revision: 3 });
      const entries = await auditOf(stage.app, agent.id);
      expect(entries.map(({ action, details }) => ({ action, details }))).toEqual([
        { action: 'agent.created', details: {} },
        { action: 'agent.updated', details: { fields: ['capabilities'] } },
        { action: 'agent.updated', details: { fields: ['description', 'roles'] } },
      ]);
    });

    it('that changes nothing leaves no entry and keeps the revision', async () => {
      const agent = await createAgent(stage.app, { name: newName(), description: 'old', roles: ['r', 's'] });
      const body = { description: 'old', roles: ['r', 's'] };
      expect(await send(stage.app, 'PATCH', `${AGENTS}/${agent.id}`, { body })).toMatchObject({
        status: 200,
        body: agent,
      });
      expect(await auditOf(stage.app, agent.id)).toHaveLength(1);
    });

    it('honours If-Match', async () => {
      const { id } = await createAgent(stage.app, { name: newName() });
      const patch = (tag: string, description: string): ReturnType<typeof send> =>
        send(stage.app, 'PATCH', `${AGENTS}/${id}`, { body: { description }, headers: { 'If-Match': tag } });
      expect((await patch('"1"', 'a')).status).toBe(200);
      expect(await patch('"1"', 'b')).toMatchObject({ status: 412, body: { error: { code: 'PRECONDITION_FAILED' } } });
      expect((await patch('W/"2"', 'b')).status).toBe(412);
      expect((await patch('"1", "2"', 'b')).status).toBe(200);
      expect((await patch('*', 'c')).status).toBe(200);
      expect((await patch('3', 'd')).status).toBe(400);
    });

    it('of another revision is refused as such before its other faults', async () => {
      const person = await createAgent(stage.app, { name: newName(), kind: 'human' });
      const machine = await createAgent(stage.app, { name: newName() });
      const other = await createAgent(stage.app, { name: newName(), kind: 'human' });
      await send(stage.app, 'PATCH', `${AGENTS}/${other.id}`, { body: { slackId: 'T1/U1' } });
      const faulty: [id: string, body: object, status: number][] = [
        [person.id, { slackId: 'T1/U1' }, 409],
        [machine.id, { slackId: 'T1/U2' }, 400],
        [person.id, { observeUntil: new Date(Date.now() + 60_000).toISOString() }, 400],
        [machine.id, { observeUntil: '2026-01-01T00:00:00Z' }, 400],
      ];
      for (const [id, body, status] of faulty) {
        const patch = async (revision: number): Promise<number> =>
          (await send(stage.app, 'PATCH', `${AGENTS}/${id}`, { body, headers: { 'If-Match': `"${revision}"` } }))
            .status;
        expect({ body, statuses: [await patch(7), await patch(1)] }).toEqual({ body, statuses: [412, status] });
      }
    });

    it('refuses immutable members, and an empty body', async () => {
      const { id } = await createAgent(stage.app, { name: newName() });
      const patch = (body: unknown): ReturnType<typeof send> => send(stage.app, 'PATCH', `${AGENTS}/${id}`, { body });
      for (const name of ['name', 'kind', 'status', 'id', 'revision']) {
        expect(Object.keys(faults(await patch({ description: 'a', [name]: null })))).toEqual([name]);
      }
      for (const body of [{}, { description: null }, [], 'x']) expect((await patch(body)).status).toBe(400);
      expect((await send(stage.app, 'PATCH', `${AGENTS}/${id}`)).status).toBe(400);
      expect((await send(stage.app, 'PATCH', `${AGENTS}/nobody`, { body: { description: 'a' } })).status).toBe(404);
      expect((await send(stage.app, 'PATCH', `${AGENTS}/nobody`, { body: {} })).status).toBe(400);
    });
  });

  describe('suspension', () => {
    it('is shown, can be repeated without effect, and lifted', async () => {
      const agent = await createAgent(stage.app, { name: newName() });
      const path = `${AGENTS}/${encodeURIComponent(agent.name)}`;
      const suspended = await send(stage.app, 'POST', `${path}/suspend`, { body: { reason: 'odd behaviour' } });
      expect(suspended).toMatchObject({ status: 200, body: { id: agent.id, status: 'suspended', revision: 2 } });
      expect(suspended.headers.get('etag')).toBe('"2"');
      expect(suspended.headers.get('location')).toBeNull();
      const again = await send(stage.app, 'POST', `${path}/suspend`, { body: {} });
      expect(again).toMatchObject({ status: 200, body: suspended.body });
      const resumed = await send(stage.app, 'POST', `${AGENTS}/${agent.id}/resume`);
      expect(resumed).toMatchObject({ status: 200, body: { status: 'active', revision: 3 } });
      await send(stage.app, 'POST', `${AGENTS}/${agent.id}/resume`, { body: { reason: null } });
      expect((await auditOf(stage.app, agent.id)).map(({ action, reason }) => [action, reason])).toEqual([
        ['agent.created', null],
        ['agent.suspended', 'odd behaviour'],
        ['agent.resumed', null],
      ]);
    });

    it('accepts a reason of at most 2000 characters and nothing else', async () => {
      const { id } = await createAgent(stage.app, { name: newName() });
      const suspend = (body: unknown): ReturnType<typeof send> =>
        send(stage.app, 'POST', `${AGENTS}/${id}/suspend`, { body });
      expect(Object.keys(faults(await suspend({ reason: 'x'.repeat(2001) })))).toEqual(['reason']);
      expect(Object.keys(faults(await suspend({ reason: 7 })))).toEqual(['reason']);
      expect(Object.keys(faults(await suspend({ because: 'x' })))).toEqual(['because']);
      expect((await suspend({ reason: '😀'.repeat(2000) })).status).toBe(200);
    });

    it.each(['suspend', 'resume'])('answers 404 for an unknown agent (%s)', async (action) => {
      expect((await send(stage.app, 'POST', `${AGENTS}/nobody/${action}`)).status).toBe(404);
    });
  });

  it('cannot be changed by other methods', async () => {
    const { id } = await createAgent(stage.app, { name: newName() });
    for (const method of ['PUT', 'DELETE']) {
      const answer = await send(stage.app, method, `${AGENTS}/${id}`);
      expect(answer.status).toBe(405);
      expect(answer.headers.get('allow')).toContain('PATCH');
    }
    expect((await send(stage.app, 'GET', `${AGENTS}/${id}/suspend`)).status).toBe(405);
  });
});
