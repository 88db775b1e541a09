import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { auditOf, chainIsValid, createAgent, createPolicy, issueKey, propose } from '../support/application/factories';
import { faults, send, type Answer } from '../support/application/send';

const LOOK = { action: 'look', resourceType: 'document', resourceId: 'a' };

describe('A caller that is bound to an agent', () => {
  let app: TestApp;
  let own: string;
  let other: string;
  let person: string;

  beforeAll(async () => {
    app = await createTestApp();
    await createPolicy(app);
    own = (await createAgent(app, { name: 'own-bot', capabilities: ['look'] })).id;
    other = (await createAgent(app, { name: 'other-bot', capabilities: ['look'] })).id;
    person = (await createAgent(app, { name: 'a person', kind: 'human' })).id;
  });
  afterAll(async () => {
    await chainIsValid(app);
    await app.close();
  });

  async function keyFor(agentId: string | null, ...scopes: string[]): Promise<string> {
    return (await issueKey(app, { scopes, ...(agentId !== null && { agentId }) })).secret;
  }

  function ask(key: string | undefined, method: string, path: string, body?: object): Promise<Answer> {
    return send(app, method, `/api/v1/${path}`, { ...(key !== undefined && { key }), ...(body && { body }) });
  }

  function refusalOf({ status, body }: Answer): [number, string | undefined] {
    return [status, body?.error?.reason];
  }

  async function decision(proposedBy: string): Promise<string> {
    return (await propose(app, proposedBy)).id;
  }

  it('executes as that agent only, by its id or its name', async () => {
    const key = await keyFor(own, 'execute');
    expect((await ask(key, 'POST', `agents/${own}/execute`, LOOK)).body).toMatchObject({ agentId: own });
    expect((await ask(key, 'POST', 'agents/own-bot/execute', LOOK)).status).toBe(200);
    expect(refusalOf(await ask(key, 'POST', `agents/${other}/execute`, LOOK))).toEqual([403, 'not_this_agent']);
    expect(refusalOf(await ask(key, 'POST', 'agents/other-bot/execute', LOOK))).toEqual([403, 'not_this_agent']);
    // Who may not see agents cannot tell which exist.
    for (const nobody of ['nobody', 'agt_01ARZ3NDEKTSV4RRFFQ69G5FAV'])
      expect(refusalOf(await ask(key, 'POST', `agents/${nobody}/execute`, LOOK))).toEqual([403, 'not_this_agent']);
    const seeing = await keyFor(own, 'execute', 'read');
    expect((await ask(seeing, 'POST', 'agents/nobody/execute', LOOK)).status).toBe(404);
    const total = (await ask(undefined, 'GET', `executions?agentId=${other}`)).body.total;
    expect(total).toBe(0);
  });

  it('cannot tell which agents exist from routes of a person, unless it sees agents', async () => {
    const routes: [method: string, path: string, reason: string, body?: object][] = [
      ['PUT', 'email', 'not_this_agent', { email: 'a@example.com' }],
      ['DELETE', 'email', 'not_this_agent'],
      ['GET', 'passkeys', 'scope_missing'],
      ['GET', 'passkeys/psk_1', 'scope_missing'],
      ['POST', 'passkeys/options', 'not_this_agent'],
      ['POST', 'passkeys', 'not_this_agent', { credential: {}, name: 'x' }],
      ['POST', 'passkeys/psk_1/remove', 'not_this_agent'],
      ['GET', 'delegations', 'scope_missing'],
      ['GET', 'delegations/dlg_1', 'scope_missing'],
      ['POST', 'delegations', 'not_this_agent', { to: 'x', until: '2099-01-01T00:00:00Z' }],
      ['POST', 'delegations/dlg_1/end', 'not_this_agent'],
    ];
    const [blind, seeing] = [await keyFor(own, 'review'), await keyFor(own, 'review', 'read')];
    for (const [method, path, reason, body] of routes) {
      for (const agent of [other, 'other-bot', 'nobody', 'agt_01ARZ3NDEKTSV4RRFFQ69G5FAV'])
        expect(refusalOf(await ask(blind, method, `agents/${agent}/${path}`, body))).toEqual([403, reason]);
      expect((await ask(seeing, method, `agents/nobody/${path}`, body)).status).toBe(404);
    }
    const unbound = await keyFor(null, 'execute');
    for (const agent of [other, 'nobody'])
      expect(refusalOf(await ask(unbound, 'DELETE', `agents/${agent}/email`))).toEqual([403, 'scope_missing']);
  });

  it('resumes, cancels and reports executions of that agent only, and cancels its decisions only', async () => {
    const actions = ['look'];
    const approval = { approvers: [{ subjects: ['a person'] }] };
    await createPolicy(app, { effect: 'require_approval', actions, resources: ['b'], priority: 1, approval });
    const { id, decisionId } = (await ask(undefined, 'POST', `agents/${own}/execute`, { ...LOOK, resourceId: 'b' }))
      .body;
    const proposed = await decision(own);
    const calls: [path: string, body?: object][] = [
      [`executions/${id}/resume`],
      [`executions/${id}/result`, { outcome: 'executed' }],
      [`executions/${id}/cancel`],
      [`decisions/${decisionId}/cancel`],
      [`decisions/${proposed}/cancel`],
    ];
    const scopes = ['execute', 'propose'];
    const [blind, seeing] = [await keyFor(other, ...scopes), await keyFor(other, ...scopes, 'read')];
    for (const [path, body] of calls) {
      expect(refusalOf(await ask(seeing, 'POST', path, body))).toEqual([403, 'not_this_agent']);
      // For the caller, a record that it may not see does not exist.
      expect((await ask(blind, 'POST', path, body)).status).toBe(404);
    }
    const key = await keyFor(own, ...scopes);
    expect((await ask(key, 'POST', `executions/${id}/cancel`)).body.outcome).toBe('cancelled');
    expect((await ask(key, 'POST', `decisions/${proposed}/cancel`)).body.status).toBe('cancelled');
    const unbound = await keyFor(null, 'propose');
    expect((await ask(unbound, 'POST', `decisions/${await decision(own)}/cancel`)).body.status).toBe('cancelled');
  });

  it('proposes as its agent, which it need not name', async () => {
    const key = await keyFor(own, 'propose');
    const proposal = { type: 'deployment', title: 'Deploy', riskLevel: 'low' };
    expect((await ask(key, 'POST', 'decisions', proposal)).body).toMatchObject({ proposedBy: own });
    expect((await ask(key, 'POST', 'decisions', { ...proposal, proposedBy: null })).status).toBe(201);
    expect((await ask(key, 'POST', 'decisions', { ...proposal, proposedBy: 'own-bot' })).status).toBe(201);
    for (const proposedBy of [other, 'other-bot', 'nobody']) {
      const answer = await ask(key, 'POST', 'decisions', { ...proposal, proposedBy });
      expect(refusalOf(answer)).toEqual([403, 'not_this_agent']);
    }
    const unbound = await ask(await keyFor(null, 'propose'), 'POST', 'decisions', { ...proposal, title: '' });
    expect(Object.keys(faults(unbound)).sort()).toEqual(['proposedBy', 'title']);
  });

  it('reviews as its agent, which it need not name', async () => {
    const key = await keyFor(own, 'review');
    const approved = await decision(other);
    expect((await ask(key, 'POST', `decisions/${approved}/approve`)).body.reviews).toMatchObject([{ approverId: own }]);
    const rejected = await decision(other);
    expect((await ask(key, 'POST', `decisions/${rejected}/reject`)).body.reviews).toMatchObject([{ approverId: own }]);
    const untouched = await decision(own);
    for (const verdict of ['approve', 'reject']) {
      const answer = await ask(key, 'POST', `decisions/${untouched}/${verdict}`, { approverId: other });
      expect(refusalOf(answer)).toEqual([403, 'not_this_agent']);
    }
    expect(refusalOf(await ask(key, 'POST', `decisions/${untouched}/approve`))).toEqual([403, 'self_approval']);
    const unbound = await ask(await keyFor(null, 'review'), 'POST', `decisions/${untouched}/approve`);
    expect(faults(unbound)).toHaveProperty(['approverId']);
  });

  it('sees only its own executions if it lacks `read`', async () => {
    const key = await keyFor(own, 'execute');
    const mine = await ask(key, 'POST', `agents/${own}/execute`, LOOK);
    const theirs = await ask(undefined, 'POST', `agents/${other}/execute`, LOOK);
    expect((await ask(key, 'GET', `executions/${mine.body.id}`)).status).toBe(200);
    expect((await ask(key, 'GET', `executions/${theirs.body.id}`)).status).toBe(404);
    const { data, total } = (await ask(key, 'GET', 'executions?limit=1000')).body;
    expect(new Set(data.map(({ agentId }: { agentId: string }) => agentId))).toEqual(new Set([own]));
    expect(total).toBe(data.length);
    for (const query of [`agentId=${other}`, 'agentId=other-bot', `agentId=${other}&outcome=authorized`]) {
      expect((await ask(key, 'GET', `executions?${query}`)).body).toEqual({ data: [], total: 0 });
    }
    const page = (await ask(undefined, 'GET', 'executions?limit=1')).body;
    const next = (await ask(key, 'GET', `executions?cursor=${page.nextCursor}`)).body;
    expect(next.total).toBe(total);
    const ofOne = (await ask(key, 'GET', 'executions?limit=1')).body;
    for (const reader of [undefined, await keyFor(other, 'execute'), key]) {
      const continued = (await ask(reader, 'GET', `executions?limit=1&cursor=${ofOne.nextCursor}`)).body;
      expect(continued.total).toBe((await ask(reader, 'GET', 'executions')).body.total);
    }
    expect((await ask(key, 'GET', 'decisions')).status).toBe(403);
    for (const scope of ['read', 'review']) {
      const all = await keyFor(own, 'execute', scope);
      expect((await ask(all, 'GET', `executions/${theirs.body.id}`)).status).toBe(200);
    }
    expect((await ask(await keyFor(null, 'execute'), 'GET', `executions/${theirs.body.id}`)).status).toBe(200);
  });

  it('sees only the decisions that it proposed if it lacks `read` and `review`', async () => {
    const key = await keyFor(own, 'propose', 'execute');
    const [mine, theirs] = [await decision(own), await decision(other)];
    expect((await ask(key, 'GET', `decisions/${mine}`)).status).toBe(200);
    expect((await ask(key, 'GET', `decisions/${theirs}`)).status).toBe(404);
    const { data, total } = (await ask(key, 'GET', 'decisions?limit=1000')).body;
    expect(new Set(data.map(({ proposedBy }: { proposedBy: string }) => proposedBy))).toEqual(new Set([own]));
    expect(total).toBe(data.length);
    expect((await ask(await keyFor(own, 'review'), 'GET', `decisions/${theirs}`)).status).toBe(200);
  });

  it('does not change, suspend or resume its own agent', async () => {
    const key = await keyFor(own, 'agents');
    const before = (await ask(undefined, 'GET', `agents/${own}`)).body;
    for (const idOrName of [own, 'own-bot']) {
      const changed = await ask(key, 'PATCH', `agents/${idOrName}`, { roles: ['finance'] });
      expect(refusalOf(changed)).toEqual([403, 'own_agent']);
      const stale = { key, headers: { 'If-Match': '"99"' }, body: { roles: ['finance'] } };
      expect(refusalOf(await send(app, 'PATCH', `/api/v1/agents/${idOrName}`, stale))).toEqual([403, 'own_agent']);
      expect(refusalOf(await ask(key, 'POST', `agents/${idOrName}/suspend`))).toEqual([403, 'own_agent']);
      expect(refusalOf(await ask(key, 'POST', `agents/${idOrName}/resume`))).toEqual([403, 'own_agent']);
    }
    expect((await ask(undefined, 'GET', `agents/${own}`)).body).toEqual(before);
    expect((await ask(key, 'PATCH', `agents/${other}`, { description: 'Changed.' })).status).toBe(200);
  });

  it('manages machines only, like every caller that is not an admin', async () => {
    for (const key of [await keyFor(own, 'agents'), await keyFor(null, 'agents')]) {
      const created = await ask(key, 'POST', 'agents', { name: 'sock puppet', kind: 'human' });
      expect(refusalOf(created)).toEqual([403, 'scope_missing']);
      const changed = await ask(key, 'PATCH', `agents/${person}`, { roles: ['finance'] });
      expect(refusalOf(changed)).toEqual([403, 'scope_missing']);
      expect(refusalOf(await ask(key, 'POST', `agents/${person}/suspend`))).toEqual([403, 'scope_missing']);
    }
    const { id, secret } = await issueKey(app, { scopes: ['agents'] });
    await send(app, 'PATCH', `/api/v1/agents/${person}`, {
      ...{ key: secret, headers: { 'If-Match': '"99"' }, body: { roles: ['finance'] } },
    });
    expect(await auditOf(app, id)).toContainEqual(
      expect.objectContaining({
        ...{ action: 'access.denied', reason: 'scope_missing' },
        details: { method: 'PATCH', route: '/api/v1/agents/:id', scope: 'admin', target: person },
      }),
    );
    const admin = await keyFor(null, 'admin');
    expect((await ask(admin, 'PATCH', `agents/${person}`, { roles: ['finance'] })).status).toBe(200);
  });

  it('reviews the decision of an execution, which only the key of the environment may do, too', async () => {
    await createPolicy(app, { effect: 'require_approval', actions: ['look'], subjects: ['other-bot'] });
    const { decisionId } = (await ask(undefined, 'POST', 'agents/other-bot/execute', LOOK)).body;
    for (const scope of ['review', 'admin']) {
      const unbound = await keyFor(null, scope);
      for (const verdict of ['approve', 'reject']) {
        // Before the body is read, which is not JSON.
        const answer = await send(app, 'POST', `/api/v1/decisions/${decisionId}/${verdict}`, {
          key: unbound,
          body: '{',
        });
        expect(refusalOf(answer)).toEqual([403, 'reviewer_not_bound']);
      }
      expect((await ask(unbound, 'POST', 'decisions/none/approve', { approverId: person })).status).toBe(404);
    }
    const denials = await auditOf(app, String(decisionId));
    expect(denials.map(({ action }) => action)).toEqual(['decision.proposed']);
    expect((await ask(undefined, 'POST', `decisions/${decisionId}/approve`, { approverId: person })).status).toBe(200);
  });

  it('leaves entries that name its key and its agent', async () => {
    const { id, secret } = await issueKey(app, { scopes: ['propose'], agentId: own });
    const proposal = { type: 'deployment', title: 'Deploy', riskLevel: 'low' };
    const { body } = await ask(secret, 'POST', 'decisions', proposal);
    expect(await auditOf(app, body.id)).toMatchObject([{ actor: { type: 'api_key', id }, agentId: own }]);
  });
});

describe('Where bound reviewers are required', () => {
  let app: TestApp;

  beforeAll(async () => (app = await createTestApp({ environment: { REQUIRE_BOUND_REVIEWERS: 'true' } })));
  afterAll(() => app.close());

  it('other callers cannot review, not even with the key of the environment', async () => {
    const proposer = await createAgent(app, { name: 'proposer' });
    const reviewer = await createAgent(app, { name: 'reviewer' });
    const { id } = await propose(app, proposer.id);
    const unbound = (await issueKey(app, { scopes: ['review'] })).secret;
    const bound = (await issueKey(app, { scopes: ['review'], agentId: reviewer.id })).secret;
    for (const verdict of ['approve', 'reject']) {
      for (const sent of [{}, { key: unbound }]) {
        // Before the body is read, and for any decision.
        const answer = await send(app, 'POST', `/api/v1/decisions/none/${verdict}`, { body: '{', ...sent });
        expect([answer.status, answer.body.error.reason]).toEqual([403, 'reviewer_not_bound']);
      }
    }
    expect((await send(app, 'POST', `/api/v1/decisions/${id}/approve`, { key: bound })).status).toBe(200);
  });
});
