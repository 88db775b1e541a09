import { auditOf, createAgent } from '../support/application/factories';
import { faults, send } from '../support/application/send';
import { AGENTS, agentStage, newName } from './agent-stage';

describe('agents', () => {
  const stage = agentStage();

  describe('creation', () => {
    it('fills in optional members and returns the whole record', async () => {
      const created = await send(stage.app, 'POST', AGENTS, { body: { name: 'minimal' } });
      expect(created.status).toBe(201);
      expect(created.body).toEqual({
        id: expect.stringMatching(/^agt_[0-9A-HJKMNP-TV-Z]{26}$/),
        name: 'minimal',
        kind: 'machine',
        description: '',
        capabilities: [],
        roles: [],
        status: 'active',
        observeUntil: null,
        slackId: null,
        directory: null,
        team: null,
        createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        updatedAt: created.body.createdAt,
        revision: 1,
      });
      expect(created.headers.get('location')).toBe(`${AGENTS}/${created.body.id}`);
      expect(created.headers.get('etag')).toBe('"1"');
      const read = await send(stage.app, 'GET', `${AGENTS}/${created.body.id}`);
      expect(read).toMatchObject({ status: 200, body: created.body });
      expect(read.headers.get('etag')).toBe('"1"');
    });

    it('accepts null for optional members', async () => {
      const body = { name: newName(), kind: null, description: null, capabilities: null, roles: null };
      expect(await send(stage.app, 'POST', AGENTS, { body })).toMatchObject({
        status: 201,
        body: { kind: 'machine', description: '', capabilities: [], roles: [] },
      });
    });

    it('accepts every member at its limit', async () => {
      const body = {
        name: '😀'.repeat(200),
        description: 'd'.repeat(2000),
        capabilities: Array.from({ length: 200 }, (_, index) => String(index).padStart(100, 'c')),
        roles: Array.from({ length: 50 }, (_, index) => `${index}`.padEnd(2) + '😀'.repeat(98)),
      };
      expect(await send(stage.app, 'POST', AGENTS, { body })).toMatchObject({ status: 201, body });
    });

    const BAD_NAMES = [
      ...[undefined, null, 7, ['x'], '', ' '],
      ...[' x', 'x ', '\u00a0x', 'x\u2003', 'a\u0007b', 'a\u009fb', 'a\u200db', 'a\u202eb', 'a/b', 'a*b', '*'],
      ...['.', '..', 'agt_', 'agt_01ABC', 'agent:x', 'role:x', 'kind:x', 'kind:human'],
    ];
    it.each(BAD_NAMES)('refuses the name %j', async (name) => {
      const answer = await send(stage.app, 'POST', AGENTS, { body: { name } });
      expect(answer).toMatchObject({ status: 400, body: { error: { code: 'VALIDATION_ERROR' } } });
      expect(Object.keys(faults(answer))).toEqual(['name']);
    });

    it.each(['x', '😀'])('refuses a name of 201 %s', async (character) => {
      const answer = await send(stage.app, 'POST', AGENTS, { body: { name: character.repeat(201) } });
      expect(faults(answer)).toEqual({ name: 'must have 1 to 200 characters' });
    });

    it.each(['...', '.x', 'agt', 'Agt_x', 'AGENT:x', 'user:x', 'a%2Fb', "o'brien & co", '#1?', 'ﬁ'])(
      'accepts the name %j and finds the agent by it',
      async (name) => {
        const { id } = await createAgent(stage.app, { name });
        const read = await send(stage.app, 'GET', `${AGENTS}/${encodeURIComponent(name)}`);
        expect(read).toMatchObject({ status: 200, body: { id, name } });
      },
    );

    it('reports each fault with its path', async () => {
      const body = {
        name: newName(),
        description: 'd'.repeat(2001),
        capabilities: ['a', 'b', 'a', '', ' ', 'x'.repeat(101), 7, null],
        roles: Array.from({ length: 51 }, String),
        status: 'suspended',
        id: null,
      };
      const answer = await send(stage.app, 'POST', AGENTS, { body });
      expect(answer.status).toBe(400);
      expect(Object.keys(faults(answer)).sort()).toEqual(
        [
          'capabilities[2]',
          'capabilities[3]',
          'capabilities[4]',
          'capabilities[5]',
          'capabilities[6]',
          'capabilities[7]',
        ]
          .concat(['description', 'id', 'roles', 'status'])
          .sort(),
      );
      const many = { name: newName(), capabilities: Array.from({ length: 201 }, String) };
      expect(Object.keys(faults(await send(stage.app, 'POST', AGENTS, { body: many })))).toEqual(['capabilities']);
      for (const capabilities of ['x', {}, false, 1]) {
        const bare = await send(stage.app, 'POST', AGENTS, { body: { name: newName(), capabilities } });
        expect(Object.keys(faults(bare))).toEqual(['capabilities']);
      }
    });

    it.each(['capabilities', 'roles'])(
      'refuses invisible characters and other forms than NFC in %s, also in an update',
      async (list) => {
        const { id } = await createAgent(stage.app, { name: newName() });
        const body = {
          [list]: ['a b', 'x ', ' x', '\u00a0x', 'a\u200bb', 'a\u202eb', 'a\u0007b', '\ufeffx', 'e\u0301'],
        };
        const expected = [1, 2, 3, 4, 5, 6, 7, 8].map((index) => `${list}[${index}]`);
        const created = await send(stage.app, 'POST', AGENTS, { body: { name: newName(), ...body } });
        expect(created.status).toBe(400);
        expect(Object.keys(faults(created))).toEqual(expected);
        expect(Object.keys(faults(await send(stage.app, 'PATCH', `${AGENTS}/${id}`, { body })))).toEqual(expected);
      },
    );

    it.each(['person', 'Human', '', 7, ['human']])('refuses the kind %j', async (kind) => {
      const answer = await send(stage.app, 'POST', AGENTS, { body: { name: newName(), kind } });
      expect(faults(answer)).toEqual({ kind: 'must be one of machine, human' });
    });

    it('accepts a person, whose kind every answer shows; the sealed state of a machine has no kind', async () => {
      const person = await createAgent(stage.app, { name: newName(), kind: 'human' });
      const machine = await createAgent(stage.app, { name: newName(), kind: 'machine' });
      expect(person.kind).toBe('human');
      for (const path of ['suspend', 'resume']) {
        expect((await send(stage.app, 'POST', `${AGENTS}/${person.id}/${path}`)).body.kind).toBe('human');
      }
      expect((await send(stage.app, 'PATCH', `${AGENTS}/${person.id}`, { body: { roles: ['a'] } })).body.kind).toBe(
        'human',
      );
      expect((await send(stage.app, 'GET', `${AGENTS}/${person.id}`)).body.kind).toBe('human');
      const sealed = async (id: string): Promise<object> => {
        const { body } = await send(stage.app, 'GET', `/api/v1/provenance?subjectId=${id}`);
        return (await send(stage.app, 'GET', `/api/v1/provenance/${body.data[0].sequence}`)).body.state;
      };
      // Members that were added later are left out while they have their default.
      const { observeUntil, slackId, directory, team, ...members } = person;
      expect([observeUntil, slackId, directory, team, await sealed(person.id)]).toEqual([
        null,
        null,
        null,
        null,
        members,
      ]);
      const { kind, observeUntil: until, slackId: inSlack, directory: from, team: ofMachine, ...form } = machine;
      expect([kind, until, inSlack, from, ofMachine]).toEqual(['machine', null, null, null, null]);
      expect(await sealed(machine.id)).toEqual(form);
    });

    it('leaves one entry, without free-form content', async () => {
      const { id } = await createAgent(stage.app, { name: newName(), description: 'secret', capabilities: ['a'] });
      expect(await auditOf(stage.app, id)).toEqual([
        expect.objectContaining({
          action: 'agent.created',
          actor: { type: 'api_key', id: 'env' },
          agentId: id,
          entityId: null,
          subjectType: 'agent',
          subjectId: id,
          outcome: 'success',
          reason: null,
          details: {},
        }),
      ]);
    });
  });

  describe('names', () => {
    it('are compared in Unicode normal form C, on write and on lookup', async () => {
      const { id, name } = await createAgent(stage.app, { name: 'cafe\u0301' });
      expect(name).toBe('caf\u00e9');
      for (const form of ['cafe\u0301', 'caf\u00e9']) {
        const read = await send(stage.app, 'GET', `${AGENTS}/${encodeURIComponent(form)}`);
        expect(read.body.id).toBe(id);
        expect(await send(stage.app, 'POST', AGENTS, { body: { name: form } })).toMatchObject({
          status: 409,
          body: { error: { code: 'CONFLICT' } },
        });
      }
    });

    it('are measured after normalisation', async () => {
      expect((await createAgent(stage.app, { name: 'e\u0301'.repeat(200) })).name).toBe('\u00e9'.repeat(200));
    });

    it('are counted after normalisation wherever an agent is named', async () => {
      const name = '각'.repeat(200).normalize('NFD');
      const { id } = await createAgent(stage.app, { name });
      const request = { action: 'look', resourceType: 'a', resourceId: 'b' };
      const naming: [path: string, body: object][] = [
        ['api-keys', { name: 'x', scopes: ['read'], agentId: name }],
        ['webhooks', { url: 'https://hooks.example.com/x', actions: ['*'], agentId: name }],
        ['decisions', { type: 'x', title: 'x', riskLevel: 'low', proposedBy: name }],
        ['policies/evaluate', { agent: name, ...request }],
        ['policies/evaluate', { requests: [{ agent: name }, { subject: { name } }], ...request }],
        ['policies/evaluate', { subject: { name }, ...request }],
        ['policies/plan', { policies: [], tests: [{ agent: name, ...request, expect: 'deny' }] }],
      ];
      for (const [path, body] of naming) {
        const { status, body: answer } = await send(stage.app, 'POST', `/api/v1/${path}`, { body });
        expect([path, Math.floor(status / 100), answer.error?.message]).toEqual([path, 2, undefined]);
      }
      for (const list of ['api-keys?agentId', 'decisions?proposedBy', 'audit?agentId', 'provenance?agentId']) {
        const answer = await send(stage.app, 'GET', `/api/v1/${list}=${encodeURIComponent(name)}`);
        expect([list, answer.body.total]).toEqual([
          list,
          (await send(stage.app, 'GET', `/api/v1/${list}=${id}`)).body.total,
        ]);
        expect(answer.body.total).toBeGreaterThan(0);
      }
    });

    it('differ by case', async () => {
      await createAgent(stage.app, { name: 'Case' });
      await createAgent(stage.app, { name: 'case' });
      expect((await send(stage.app, 'GET', `${AGENTS}/CASE`)).status).toBe(404);
    });

    it('are unique, even when many race', async () => {
      const before = (await send(stage.app, 'GET', '/api/v1/stats')).body;
      const answers = await Promise.all(
        Array.from({ length: 50 }, () => send(stage.app, 'POST', AGENTS, { body: { name: 'contested' } })),
      );
      expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
      expect(answers.filter(({ status }) => status === 409)).toHaveLength(49);
      const after = (await send(stage.app, 'GET', '/api/v1/stats')).body;
      expect(after).toEqual({
        ...before,
        agents: Number(before.agents) + 1,
        provenanceEntries: Number(before.provenanceEntries) + 1,
      });
    });
  });

  describe('reading', () => {
    it.each(['nobody', 'agt_01ARZ3NDEKTSV4RRFFQ69G5FAV', 'agt_', '%F0%9F%98%80'])('answers 404 for %s', async (id) => {
      expect(await send(stage.app, 'GET', `${AGENTS}/${id}`)).toMatchObject({
        status: 404,
        body: { error: { code: 'NOT_FOUND', message: 'The agent was not found.' } },
      });
    });

    it.each(['%00', 'a%00b', '%ff', '%zz'])('answers 400 for %s', async (id) => {
      expect((await send(stage.app, 'GET', `${AGENTS}/${id}`)).status).toBe(400);
    });

    it('answers 304 to a client that has the current revision', async () => {
      const { id } = await createAgent(stage.app, { name: newName() });
      const headers = { 'If-None-Match': '"1"' };
      expect((await send(stage.app, 'GET', `${AGENTS}/${id}`, { headers })).status).toBe(304);
      await send(stage.app, 'PATCH', `${AGENTS}/${id}`, { body: { description: 'new' } });
      expect((await send(stage.app, 'GET', `${AGENTS}/${id}`, { headers })).status).toBe(200);
    });
  });

  describe('lists', () => {
    it('filter by capability, role and status, each exactly', async () => {
      const make = (capabilities: string[], roles: string[]): Promise<{ id: string }> =>
        createAgent(stage.app, { name: newName(), capabilities, roles });
      const first = await make(['list-a', 'list-b'], ['list-r']);
      const second = await make(['list-b"', '%', 'list-b'], ['list-r', 'list-s']);
      await send(stage.app, 'POST', `${AGENTS}/${second.id}/suspend`);
      const ids = async (query: string): Promise<string[]> => {
        const { status, body } = await send(stage.app, 'GET', `${AGENTS}?${query}`);
        expect(status).toBe(200);
        expect(body.total).toBe(body.data.length);
        return body.data.map((agent: { id: string }) => agent.id);
      };
      expect(await ids('capability=list-a')).toEqual([first.id]);
      expect(await ids('capability=list-b')).toEqual([first.id, second.id]);
      expect(await ids('capability=list-b&order=desc')).toEqual([second.id, first.id]);
      expect(await ids('capability=list-b%22')).toEqual([second.id]);
      expect(await ids('capability=list')).toEqual([]);
      expect(await ids('capability=%25')).toEqual([second.id]);
      expect(await ids('role=list-s')).toEqual([second.id]);
      expect(await ids('role=list-r&status=active')).toEqual([first.id]);
      expect(await ids('capability=list-b&status=suspended')).toEqual([second.id]);
    });

    it('filter by kind', async () => {
      const person = await createAgent(stage.app, { name: newName(), kind: 'human', roles: ['kinds'] });
      const machine = await createAgent(stage.app, { name: newName(), roles: ['kinds'] });
      const list = async (query: string): Promise<unknown> => (await send(stage.app, 'GET', `${AGENTS}?${query}`)).body;
      expect(await list('role=kinds&kind=human')).toEqual({ data: [person], total: 1 });
      expect(await list('role=kinds&kind=machine')).toEqual({ data: [machine], total: 1 });
      expect(await list('kind=human&limit=1000')).toMatchObject({ total: expect.any(Number) });
      expect((await send(stage.app, 'GET', `${AGENTS}?kind=person`)).status).toBe(400);
    });

    it('count beyond the page and continue by cursor', async () => {
      const names = [newName(), newName(), newName()];
      for (const name of names) await createAgent(stage.app, { name, roles: ['paged'] });
      const first = (await send(stage.app, 'GET', `${AGENTS}?role=paged&limit=2`)).body;
      expect(first.total).toBe(3);
      const rest = (await send(stage.app, 'GET', `${AGENTS}?limit=2&cursor=${first.nextCursor}`)).body;
      expect(rest).toEqual({ data: [expect.objectContaining({ name: names[2] })], total: 3 });
    });

    it.each(['status=gone', 'capability=', 'capabilities=a', 'role=a&role=b', 'limit=0', 'limit=1001', 'name=a'])(
      'refuse ?%s',
      async (query) => {
        expect((await send(stage.app, 'GET', `${AGENTS}?${query}`)).status).toBe(400);
      },
    );
  });
});
