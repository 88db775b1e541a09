import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { EventReader } from '../support/application/event-reader';
import { auditOf, chainIsValid, createAgent, createPolicy, issueKey } from '../support/application/factories';
import { type Answer, faults, send } from '../support/application/send';

const REFUND = { action: 'refund', resourceType: 'charge', resourceId: 'charges/ch_1', via: 'payments' };

describe('An execution through a gateway', () => {
  let app: TestApp;
  /** The gateway's key, the key of the agent for which it asks, and that of the person who approves. */
  let gateway: string;
  let agent: string;
  let boss: string;
  let other: string;

  beforeAll(async () => {
    app = await createTestApp({ environment: { RATE_LIMIT: '1000000' } });
    const bot = await createAgent(app, { name: 'bot', capabilities: ['refund', 'transfer', 'look'] });
    other = (await createAgent(app, { name: 'other' })).id;
    const person = await createAgent(app, { name: 'boss', kind: 'human' });
    await createPolicy(app, { actions: ['refund'] });
    await createPolicy(app, {
      ...{ actions: ['transfer'], effect: 'require_approval' },
      approval: { approvers: [{ subjects: ['agent:boss'] }] },
    });
    gateway = (await issueKey(app, { scopes: ['report'] })).secret;
    agent = (await issueKey(app, { scopes: ['execute'], agentId: bot.id })).secret;
    boss = (await issueKey(app, { scopes: ['review'], agentId: person.id })).secret;
  });
  afterAll(() => app.close());

  const post = (key: string, path: string, body?: object): Promise<Answer> =>
    send(app, 'POST', `/api/v1/${path}`, { key, ...(body !== undefined && { body }) });
  const get = (key: string, path: string): Promise<Answer> => send(app, 'GET', `/api/v1/${path}`, { key });
  const execute = (body: object): Promise<Answer> => post(agent, 'agents/bot/execute', body);
  const report = (key: string, id: string, body: object): Promise<Answer> => post(key, `executions/${id}/result`, body);

  it('has the name of the upstream, and lists find it by that', async () => {
    const { body } = await execute({ ...REFUND, resourceId: 'named', via: 'named' });
    expect(body).toMatchObject({ outcome: 'authorized', via: 'named' });
    expect((await execute({ ...REFUND, via: undefined })).body.via).toBeNull();
    expect((await execute({ ...REFUND, via: null })).body.via).toBeNull();
    const { data, total } = (await get(agent, 'executions?via=named')).body;
    expect([total, data.map(({ id }: { id: string }) => id)]).toEqual([1, [body.id]]);
    expect((await get(agent, `executions/${body.id}`)).body.via).toBe('named');
  });

  it.each(['', 'Payments', '1st', '-a', 'a_b', 'a'.repeat(41), 7])('is 400 with the via %j', async (via) => {
    expect(Object.keys(faults(await execute({ ...REFUND, via })))).toEqual(['via']);
  });

  it('is reported only with the scope report, whoever else asks', async () => {
    const { body } = await execute(REFUND);
    for (const key of [agent, undefined]) {
      const answer = await send(app, 'POST', `/api/v1/executions/${body.id}/result`, {
        ...(key !== undefined && { key }),
        body: { outcome: 'executed' },
      });
      expect([answer.status, answer.body.error.reason]).toEqual([403, 'not_reporter']);
    }
    const result = { status: 200, sha256: 'a'.repeat(64), bytes: 2 };
    const reported = await report(gateway, body.id, { outcome: 'executed', result });
    expect([reported.status, reported.body]).toEqual([
      200,
      expect.objectContaining({ outcome: 'executed', result, reason: null, via: 'payments' }),
    ]);
    expect((await report(gateway, body.id, { outcome: 'executed' })).status).toBe(409);
  });

  describe('reported with others', () => {
    const reportEach = (key: string, results: readonly object[]): Promise<Answer> =>
      post(key, 'executions/results', { results });
    const executed = { outcome: 'executed', result: { status: 200 } };
    const failed = { outcome: 'failed', reason: 'not_sent', failureReason: 'The upstream cannot be reached.' };

    it('is taken, whatever becomes of the others', async () => {
      const ids: string[] = [];
      for (const resourceId of ['first', 'second', 'reported'])
        ids.push((await execute({ ...REFUND, resourceId })).body.id);
      const [first = '', second = '', reported = ''] = ids;
      const { id: withoutVia } = (await execute({ ...REFUND, via: null })).body;
      await report(gateway, reported, { outcome: 'executed' });
      const { status, body } = await reportEach(gateway, [
        { id: first, ...executed },
        { id: reported, ...executed },
        { id: withoutVia, ...executed },
        { id: 'exe_unknown', ...failed },
        { id: second, ...failed },
      ]);
      const notFound = { code: 'NOT_FOUND', message: expect.any(String) };
      const conflict = { code: 'CONFLICT', message: expect.stringContaining('can be reported once') };
      expect([status, body]).toEqual([
        200,
        {
          data: [
            { id: first, error: null },
            { id: reported, error: conflict },
            { id: withoutVia, error: notFound },
            { id: 'exe_unknown', error: notFound },
            { id: second, error: null },
          ],
          total: 5,
        },
      ]);
      expect((await get(gateway, `executions/${first}`)).body).toMatchObject(executed);
      expect((await get(gateway, `executions/${second}`)).body).toMatchObject(failed);
      expect((await auditOf(app, second)).at(-1)).toMatchObject({ action: 'execution.completed', reason: 'not_sent' });
      expect((await get(agent, `executions/${withoutVia}`)).body.outcome).toBe('authorized');
    });

    it.each<[what: string, results: readonly object[], fields: readonly string[]]>([
      ['no item', [], ['results']],
      ['101 items', Array.from({ length: 101 }, (_, number) => ({ id: `exe_${number}`, ...executed })), ['results']],
      ['an execution twice', [1, 2].map(() => ({ id: 'exe_1', ...executed })), ['results[1]']],
      ['an item without id', [executed], ['results[0].id']],
      ['a reason of a success', [{ id: 'exe_1', outcome: 'executed', reason: 'x' }], ['results[0].reason']],
    ])('is 400 with %s', async (_what, results, fields) => {
      expect(Object.keys(faults(await reportEach(gateway, results)))).toEqual(fields);
    });

    it('needs the scope report, which others do not', async () => {
      const { id } = (await execute({ ...REFUND, resourceId: 'scoped' })).body;
      const { id: withoutVia } = (await execute({ ...REFUND, resourceId: 'scoped', via: null })).body;
      for (const key of [agent, undefined]) {
        const { status, body } = await send(app, 'POST', '/api/v1/executions/results', {
          ...(key !== undefined && { key }),
          body: { results: [{ id, ...executed }] },
        });
        expect([status, body.error.reason]).toEqual([403, 'not_reporter']);
      }
      expect((await get(agent, `executions/${id}`)).body.outcome).toBe('authorized');
      const { data } = (await reportEach(agent, [{ id: withoutVia, ...executed }])).body;
      expect(data).toEqual([{ id: withoutVia, error: null }]);
    });
  });

  it('keeps the reason of a failure, in its record and in its entry', async () => {
    const { body } = await execute({ ...REFUND, resourceId: 'failing' });
    const failure = { outcome: 'failed', reason: 'not_sent', failureReason: 'The upstream cannot be reached.' };
    const reported = await report(gateway, body.id, failure);
    expect(reported.body).toMatchObject(failure);
    const last = (await auditOf(app, body.id)).at(-1);
    expect(last).toMatchObject({ action: 'execution.completed', outcome: 'failed', reason: 'not_sent' });
    const own = await execute({ ...REFUND, via: undefined });
    expect((await report(agent, own.body.id, { outcome: 'failed', reason: 'my_own_2' })).body.reason).toBe('my_own_2');
  });

  it.each([
    [{ outcome: 'executed', reason: 'not_sent' }, 'reason'],
    [{ outcome: 'failed', reason: 'Not sent' }, 'reason'],
    [{ outcome: 'failed', reason: '' }, 'reason'],
    [{ outcome: 'failed', reason: 'a'.repeat(101) }, 'reason'],
  ])('is 400 with the report %j', async (body, field) => {
    const { id } = (await execute(REFUND)).body;
    expect(Object.keys(faults(await report(gateway, id, body)))).toEqual([field]);
  });

  it('is of the upstream that resumed it last', async () => {
    const transfer = (await execute({ ...REFUND, action: 'transfer', via: 'bank' })).body;
    expect(transfer).toMatchObject({ outcome: 'pending_approval', via: 'bank' });
    await post(boss, `decisions/${transfer.decisionId}/approve`, {});
    const waited = await get(agent, `executions/${transfer.id}?wait=5`);
    expect(waited.body.outcome).toBe('approved');
    const resumed = await post(agent, `executions/${transfer.id}/resume`, { via: 'other-bank' });
    expect(resumed.body).toMatchObject({ outcome: 'authorized', via: 'other-bank' });
    expect((await report(gateway, transfer.id, { outcome: 'executed' })).status).toBe(200);

    const alone = (await execute({ ...REFUND, action: 'transfer', via: undefined, resourceId: 'b' })).body;
    await post(boss, `decisions/${alone.decisionId}/approve`, {});
    expect((await post(agent, `executions/${alone.id}/resume`, { via: 'bank' })).body.via).toBe('bank');
    const last = (await execute({ ...REFUND, action: 'transfer', resourceId: 'c' })).body;
    await post(boss, `decisions/${last.decisionId}/approve`, {});
    expect((await post(agent, `executions/${last.id}/resume`)).body.via).toBe('payments');
  });

  it('is on record with the address of the client, if the gateway’s address is in TRUST_PROXY', async () => {
    const served = await createTestApp({ environment: { TRUST_PROXY: '127.0.0.0/8' } });
    await createAgent(served, { name: 'bot', capabilities: ['refund'] });
    await createPolicy(served);
    const headers = { 'X-Forwarded-For': '192.0.2.7' };
    const answer = await send(served, 'POST', '/api/v1/agents/bot/execute', { body: REFUND, headers });
    expect((await auditOf(served, answer.body.id))[0]?.ip).toBe('192.0.2.7');
    await served.close();
  });

  it('can be withdrawn by the agent while it waits', async () => {
    const { id } = (await execute({ ...REFUND, action: 'transfer', resourceId: 'd' })).body;
    const { body } = await post(agent, `executions/${id}/cancel`, { reason: 'The client left.' });
    expect(body).toMatchObject({ outcome: 'cancelled', via: 'payments' });
  });

  it('that is refused is named by the refusal', async () => {
    await createPolicy(app, { actions: ['refund'], resources: ['closed/*'], effect: 'deny' });
    const refused = [
      await execute({ ...REFUND, action: 'fly' }),
      await execute({ ...REFUND, action: 'look' }),
      await execute({ ...REFUND, resourceId: 'closed/1' }),
    ];
    expect(refused.map(({ body }) => body.error.reason)).toEqual([
      ...['capability_missing', 'no_policy_allows', 'policy_denied'],
    ]);
    for (const { body } of refused) {
      const { error } = body;
      expect((await get(agent, `executions/${error.executionId}`)).body).toMatchObject({
        ...{ outcome: 'denied', reason: error.reason, via: 'payments' },
      });
    }
  });

  it('leaves a chain that verifies', () => chainIsValid(app));

  describe('A key with the scope report', () => {
    it('reads, lists and reports executions with via alone', async () => {
      const [own, without] = [(await execute(REFUND)).body, (await execute({ ...REFUND, via: undefined })).body];
      expect((await get(gateway, `executions/${own.id}`)).body.id).toBe(own.id);
      expect((await get(gateway, `executions/${without.id}`)).status).toBe(404);
      expect((await report(gateway, without.id, { outcome: 'executed' })).status).toBe(404);
      expect((await get(gateway, 'executions?via=payments&outcome=authorized')).body.data).toContainEqual(own);
      const { data, total } = (await get(gateway, 'executions?limit=1000')).body;
      expect(data).toHaveLength(total);
      expect(data.map(({ via }: { via: string | null }) => via)).not.toContain(null);
      // A cursor shows nothing more to another viewer, and its total is not that of all.
      const { total: all } = (await send(app, 'GET', '/api/v1/executions?limit=1')).body;
      const { nextCursor } = (await send(app, 'GET', '/api/v1/executions?limit=1')).body;
      expect(total).toBeLessThan(all);
      expect((await get(gateway, `executions?limit=1&cursor=${nextCursor}`)).body.total).toBe(total);
      const asOf = new Date(Date.now() + 1).toISOString();
      expect((await get(gateway, `executions/${without.id}?asOf=${encodeURIComponent(asOf)}`)).status).not.toBe(200);
      expect((await get(gateway, 'executions?via=')).status).toBe(400);
    });

    it.each([
      ['GET', 'agents'],
      ['GET', 'grants'],
      ['GET', 'stops'],
      ['GET', 'audit'],
      ['GET', 'agents/bot/passkeys'],
      ['POST', 'agents/bot/execute'],
      ['POST', 'policies/evaluate'],
      ['POST', 'executions/x/cancel'],
    ])('may not %s %s', async (method, path) => {
      const { status, body } = await send(app, method, `/api/v1/${path}`, { key: gateway });
      expect([status, body.error.reason]).toEqual([403, 'scope_missing']);
    });

    it('shows itself, and is not the environment’s key', async () => {
      expect((await get(gateway, 'me')).body).toMatchObject({ agentId: null, scopes: ['report'] });
      expect((await send(app, 'GET', '/api/v1/me')).body.scopes).not.toContain('report');
      const admin = (await issueKey(app, { scopes: ['admin'] })).secret;
      const { id } = (await execute(REFUND)).body;
      expect((await report(admin, id, { outcome: 'executed' })).body.error.reason).toBe('not_reporter');
    });

    it.each([
      [{ scopes: ['report', 'read'] }, 'scopes'],
      [{ scopes: ['admin', 'report'] }, 'scopes'],
      [{ scopes: ['report'], agentId: 'bot' }, 'agentId'],
    ])('cannot be issued as %j', async (body, field) => {
      const answer = await send(app, 'POST', '/api/v1/api-keys', { body: { name: 'a key', ...body } });
      expect(Object.keys(faults(answer))).toEqual([field]);
    });

    it('follows what ends a call, and nothing else', async () => {
      const headers = { 'X-API-Key': gateway };
      const reader = await EventReader.open(app, '', headers);
      const chosen = await EventReader.open(app, '?action=stop.created&action=api_key.*', headers).then(
        ({ answer }) => answer.statusCode,
      );
      expect(chosen).toBe(403);
      const stop = await post(boss, 'stops', { agentId: other, reason: 'Enough.' });
      await send(app, 'POST', `/api/v1/stops/${stop.body.id}/lift`, { body: { reason: 'Over.' } });
      await send(app, 'POST', `/api/v1/agents/${other}/suspend`);
      await send(app, 'POST', `/api/v1/agents/${other}/resume`);
      const { id } = await issueKey(app);
      await send(app, 'POST', `/api/v1/api-keys/${id}/revoke`);
      const ended = ['stop.created', 'stop.lifted', 'agent.suspended', 'api_key.revoked'];
      await reader.until(ended.length);
      expect(reader.events.map(({ event }) => event)).toEqual(ended);
      reader.close();
      const stops = await EventReader.open(app, '?after=0&action=stop.*', headers);
      await stops.until(2);
      stops.close();
    });
  });
});

describe('The rate limit', () => {
  it('counts no request of a gateway', async () => {
    const app = await createTestApp({ environment: { RATE_LIMIT: '10', RATE_WINDOW: '2147483647' } });
    const { secret: key } = await issueKey(app, { scopes: ['report'] });
    const ask = async (sent: object): Promise<number> => (await send(app, 'GET', '/api/v1/me', sent)).status;
    for (let count = 0; count < 30; count += 1) expect(await ask({ key })).toBe(200);
    const statuses = [];
    for (let count = 0; count < 12; count += 1) statuses.push(await ask({}));
    expect(statuses.filter((status) => status === 200)).toHaveLength(9);
    expect(await ask({ key })).toBe(200);
    expect(await ask({ key: `${key.slice(0, -1)}${key.endsWith('A') ? 'B' : 'A'}` })).toBe(401);
    await app.close();
  });
});
