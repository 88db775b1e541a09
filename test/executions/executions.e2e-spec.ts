import type { ExecutionResponse } from '../../src/governance/executions/dto/execution.dto';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { auditOf, chainIsValid, createAgent, createPolicy, policySetOf } from '../support/application/factories';
import { rulesOf } from '../support/oracles/rules-oracle';
import { type Answer, faults, send } from '../support/application/send';

const EXECUTIONS = '/api/v1/executions';
const REQUEST = { action: 'read', resourceType: 'file', resourceId: 'docs/a' };

function execute(app: TestApp, agent: string, body: unknown): Promise<Answer> {
  return send(app, 'POST', `/api/v1/agents/${encodeURIComponent(agent)}/execute`, { body });
}

/** The record: what a reviewer said is no part of it. */
async function readExecution(app: TestApp, id: string): Promise<ExecutionResponse> {
  const { rejection: _, ...record } = (await send(app, 'GET', `${EXECUTIONS}/${id}`)).body;
  return record;
}

/** The newest execution; a refused caller is not given its id. */
async function newest(app: TestApp): Promise<ExecutionResponse> {
  return (await send(app, 'GET', `${EXECUTIONS}?order=desc&limit=1`)).body.data[0];
}

describe('executions', () => {
  let app: TestApp;
  let agentId: string;

  beforeAll(async () => {
    app = await createTestApp();
    const agent = await createAgent(app, { name: 'bot', capabilities: ['read', 'write', 'odd'], roles: ['ops'] });
    agentId = agent.id;
    await createPolicy(app, { name: 'readers', actions: ['read'] });
    await createPolicy(app, { name: 'no writing', actions: ['write'], effect: 'deny' });
  });
  afterAll(async () => {
    await chainIsValid(app);
    await app.close();
  });

  const run = (body: Record<string, unknown> = {}, agent = 'bot'): Promise<Answer> =>
    execute(app, agent, { ...REQUEST, ...body });

  describe('that are allowed', () => {
    it('are authorised and left to the caller if no handler is registered', async () => {
      const answer = await run({ parameters: { a: [1, { constructor: 'x' }], prototype: null, b: 'false' } });
      expect(answer.status).toBe(200);
      expect(answer.headers.get('location')).toBeNull();
      expect(answer.body).toEqual({
        id: expect.stringMatching(/^exe_[0-9A-HJKMNP-TV-Z]{26}$/),
        agentId,
        agentName: 'bot',
        ...REQUEST,
        parameters: { a: [1, { constructor: 'x' }], prototype: null, b: 'false' },
        outcome: 'authorized',
        policies: [{ id: expect.stringMatching(/^pol_/), name: 'readers', version: '1.0', effect: 'allow' }],
        reason: null,
        actionHash: expect.stringMatching(/^[0-9a-f]{64}$/),
        approvedUntil: null,
        decisionId: null,
        result: null,
        failureReason: null,
        createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        completedAt: null,
        traceId: null,
        via: null,
        onBehalfOf: null,
        run: null,
        grantId: null,
        instead: null,
      });
      expect(await readExecution(app, answer.body.id)).toEqual(answer.body);
    });

    it('are found under the id of the agent, too', async () => {
      expect(await run({}, agentId)).toMatchObject({
        status: 200,
        body: { agentId, agentName: 'bot', parameters: {} },
      });
    });

    it('leave one entry with the resource and the policies, but not the parameters', async () => {
      const { id, policies } = (await run({ parameters: { secret: 'x' } })).body as ExecutionResponse;
      expect(await auditOf(app, id)).toEqual([
        expect.objectContaining({
          action: 'execution.authorized',
          actor: { type: 'api_key', id: 'env' },
          agentId,
          entityId: null,
          subjectType: 'execution',
          subjectId: id,
          outcome: 'success',
          reason: null,
          details: {
            ...REQUEST,
            policies: policies.map((policy) => ({ id: policy.id, name: policy.name, version: policy.version })),
            policySet: await policySetOf(app),
            rules: await rulesOf(app),
            agentRevision: 1,
          },
        }),
      ]);
    });

    it.each(['%s', '/%s', 'docs/%s', '/a/b/%s', '%s/a', 'ent_1/%s/ent_2'])(
      'belong to the entity named by the resource %s',
      async (pattern) => {
        const { body: entity } = await send(app, 'POST', '/api/v1/entities', { body: { type: 't', name: 'n' } });
        const { id } = (await run({ resourceId: pattern.replace('%s', entity.id) })).body;
        const { body } = await send(app, 'GET', `/api/v1/audit?entityId=${entity.id}&action=execution.authorized`);
        expect(body.data).toEqual([expect.objectContaining({ subjectId: id, entityId: entity.id })]);
      },
    );

    it('belong to no entity if none has that id, or the id is not a segment', async () => {
      const { body: entity } = await send(app, 'POST', '/api/v1/entities', { body: { type: 't', name: 'n' } });
      for (const resourceId of ['ent_01ARZ3NDEKTSV4RRFFQ69G5FAV', `x${entity.id}`, `${entity.id}x/a`]) {
        const { id } = (await run({ resourceId })).body;
        expect((await auditOf(app, id))[0]?.entityId).toBeNull();
      }
    });
  });

  describe('that are refused', () => {
    const expectStored = async (refusal: Answer, reason: string, policies: unknown[]): Promise<void> => {
      const stored = await newest(app);
      expect(stored).toMatchObject({ outcome: 'denied', result: null, decisionId: null, policies });
      expect(stored).toMatchObject({ completedAt: stored.createdAt, failureReason: refusal.body.error.message });
      expect(await auditOf(app, stored.id)).toEqual([
        expect.objectContaining({
          action: 'execution.denied',
          agentId: stored.agentId,
          subjectId: stored.id,
          outcome: 'denied',
          reason,
          requestId: refusal.body.error.requestId,
          details: expect.objectContaining({ action: stored.action, resourceId: stored.resourceId }),
        }),
      ]);
    };

    it('because no policy allows them say what a policy would have to allow', async () => {
      const refusal = await run({ action: 'odd' });
      expect(refusal).toMatchObject({
        status: 403,
        body: { error: { code: 'PERMISSION_DENIED', reason: 'no_policy_allows' } },
      });
      for (const part of ['agent:bot', agentId, 'role:ops', '"odd"', '"docs/a"', '"file/docs/a"']) {
        expect(refusal.body.error.message).toContain(part);
      }
      await expectStored(refusal, 'no_policy_allows', []);
    });

    it('by a policy name that policy', async () => {
      const refusal = await run({ action: 'write' });
      expect(refusal).toMatchObject({
        status: 403,
        body: {
          error: { code: 'POLICY_DENIED', reason: 'policy_denied', policy: { name: 'no writing', version: '1.0' } },
        },
      });
      expect(refusal.body.error.message).toContain('no writing');
      await expectStored(refusal, 'policy_denied', [expect.objectContaining({ name: 'no writing', effect: 'deny' })]);
    });

    it('because the agent lacks the capability do not depend on policies', async () => {
      await createAgent(app, { name: 'incapable' });
      for (const action of ['read', 'write', 'READ']) {
        const refusal = await run({ action }, 'incapable');
        expect(refusal).toMatchObject({
          status: 403,
          body: { error: { code: 'PERMISSION_DENIED', reason: 'capability_missing' } },
        });
        await expectStored(refusal, 'capability_missing', []);
      }
    });

    it('because the agent is suspended take precedence over every other refusal', async () => {
      await createAgent(app, { name: 'resting', capabilities: ['read'] });
      await send(app, 'POST', '/api/v1/agents/resting/suspend');
      for (const action of ['read', 'anything']) {
        const refusal = await run({ action }, 'resting');
        expect(refusal).toMatchObject({
          status: 403,
          body: { error: { code: 'PERMISSION_DENIED', reason: 'agent_suspended' } },
        });
        await expectStored(refusal, 'agent_suspended', []);
      }
      await send(app, 'POST', '/api/v1/agents/resting/resume');
      expect((await run({}, 'resting')).status).toBe(200);
    });
  });

  describe('that are invalid', () => {
    const total = async (): Promise<number> => (await send(app, 'GET', EXECUTIONS)).body.total;

    it('with an unknown agent are 404 and leave nothing', async () => {
      const before = await total();
      expect(await run({}, 'nobody')).toMatchObject({ status: 404, body: { error: { code: 'NOT_FOUND' } } });
      expect(await total()).toBe(before);
    });

    const FAULTY: [string, unknown][] = [
      ['action', undefined],
      ['action', ''],
      ['action', ' '],
      ['action', 'x'.repeat(101)],
      ['action', 7],
      ['resourceType', undefined],
      ['resourceType', 'x'.repeat(101)],
      ['resourceType', 'a/b'],
      ['resourceType', '/a'],
      ['resourceType', '.'],
      ['resourceType', '..'],
      ['resourceType', '%2e%2e'],
      ['resourceType', 'a\u0001'],
      ['resourceId', undefined],
      ['resourceId', ''],
      ['resourceId', 'x'.repeat(501)],
      ['resourceId', '/'],
      ['resourceId', '//a'],
      ['resourceId', 'a/'],
      ['resourceId', 'a//b'],
      ['resourceId', 'a/../b'],
      ['resourceId', './a'],
      ['resourceId', 'a/%2E%2e/b'],
      ['resourceId', 'a/%252e%252e/b'],
      ['resourceId', 'a/.%2e'],
      ['resourceId', 'a\nb'],
      ['resourceId', 'a%00b'],
      ['resourceId', 'a\u0085'],
      ['resourceId', 'docs%2Fa'],
      ['resourceId', '%64ocs/a'],
      ['resourceType', '%64oc'],
      ['parameters', []],
      ['parameters', 'x'],
      ['parameters', 7],
      ['agentId', 'x'],
    ];
    it.each(FAULTY)('with the %s %j are 400 and leave nothing', async (member, value) => {
      const before = await total();
      const answer = await run({ [member]: value });
      expect(answer).toMatchObject({ status: 400, body: { error: { code: 'VALIDATION_ERROR' } } });
      expect(Object.keys(faults(answer))).toEqual([member]);
      expect(await total()).toBe(before);
    });

    it('report every fault at once', async () => {
      expect(Object.keys(faults(await execute(app, 'bot', {}))).sort()).toEqual([
        'action',
        'resourceId',
        'resourceType',
      ]);
    });

    it('are answered with 400 rather than 404 if both apply', async () => {
      expect((await execute(app, 'nobody', {})).status).toBe(400);
    });
  });

  describe('lists', () => {
    it('filter by agent, action, outcome and time', async () => {
      const { id: other } = await createAgent(app, { name: 'listed', capabilities: ['read', 'write'] });
      const first = (await run({}, 'listed')).body as ExecutionResponse;
      await run({ action: 'write' }, 'listed');
      const refused = await newest(app);
      const ids = async (query: string): Promise<string[]> => {
        const { status, body } = await send(app, 'GET', `${EXECUTIONS}?agentId=${other}&${query}`);
        expect(status).toBe(200);
        return body.data.map(({ id }: ExecutionResponse) => id);
      };
      expect(await ids('limit=50')).toEqual([first.id, refused.id]);
      expect(await ids('order=desc')).toEqual([refused.id, first.id]);
      expect(await ids('action=read')).toEqual([first.id]);
      expect(await ids('outcome=denied')).toEqual([refused.id]);
      expect(await ids('outcome=running')).toEqual([]);
      expect(await ids(`from=${first.createdAt}&to=${refused.createdAt}`)).toEqual([first.id, refused.id]);
      expect(await ids('to=2020-01-01')).toEqual([]);
      const second = (await send(app, 'GET', `${EXECUTIONS}?agentId=${other}&limit=1`)).body;
      expect(second).toMatchObject({ total: 2, data: [{ id: first.id }] });
      const rest = await send(app, 'GET', `${EXECUTIONS}?cursor=${second.nextCursor}`);
      expect(rest.body).toEqual({ data: [refused], total: 2 });
    });

    it.each(['outcome=gone', 'from=yesterday', 'from=2026-11-20&to=2026-11-19', 'agent=bot', 'to=2026-11-20T06:00:00'])(
      'refuse ?%s',
      async (query) => {
        expect((await send(app, 'GET', `${EXECUTIONS}?${query}`)).status).toBe(400);
      },
    );

    it('answer 404 for an unknown execution', async () => {
      expect((await send(app, 'GET', `${EXECUTIONS}/exe_nothing`)).status).toBe(404);
    });
  });

  it('are created by POST only', async () => {
    expect((await send(app, 'GET', '/api/v1/agents/bot/execute')).status).toBe(405);
    expect((await send(app, 'POST', EXECUTIONS, { body: {} })).status).toBe(405);
  });
});

describe('executions when no policy matches', () => {
  it('are allowed where POLICY_DEFAULT_EFFECT is allow, unless a policy denies', async () => {
    const app = await createTestApp({ environment: { POLICY_DEFAULT_EFFECT: 'allow' } });
    try {
      await createAgent(app, { name: 'bot', capabilities: ['read'] });
      expect(await execute(app, 'bot', REQUEST)).toMatchObject({
        status: 200,
        body: { outcome: 'authorized', policies: [] },
      });
      expect((await execute(app, 'bot', { ...REQUEST, action: 'write' })).body.error.reason).toBe('capability_missing');
      await createPolicy(app, { effect: 'deny' });
      expect((await execute(app, 'bot', REQUEST)).body.error.code).toBe('POLICY_DENIED');
    } finally {
      await app.close();
    }
  });
});

describe('executions that race with what forbids them', () => {
  it.each([
    ['a policy', 'policy.created', (app: TestApp) => createPolicy(app, { effect: 'deny' })],
    ['a suspension', 'agent.suspended', (app: TestApp) => send(app, 'POST', '/api/v1/agents/bot/suspend')],
  ])('are allowed before %s takes its place in the chain, and none after it', async (_what, action, forbid) => {
    const app = await createTestApp();
    try {
      await createAgent(app, { name: 'bot', capabilities: ['read'] });
      await createPolicy(app);
      const requests = Array.from({ length: 150 }, async (_, index): Promise<unknown> => {
        return index === 75 ? forbid(app) : execute(app, 'bot', REQUEST);
      });
      await Promise.all(requests);
      const { data } = (await send(app, 'GET', '/api/v1/audit?order=asc&limit=1000')).body as {
        data: { action: string }[];
      };
      const actions = data.map((entry) => entry.action);
      const forbidden = actions.lastIndexOf(action);
      expect(actions.filter((each) => each.startsWith('execution.'))).toHaveLength(149);
      expect(actions.slice(0, forbidden)).not.toContain('execution.denied');
      expect(actions.slice(forbidden)).not.toContain('execution.authorized');
      await chainIsValid(app);
    } finally {
      await app.close();
    }
  });
});
