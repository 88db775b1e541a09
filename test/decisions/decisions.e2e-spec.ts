import type { OpenAPIObject } from '@nestjs/swagger';
import type { StatisticsResponse } from '../../src/operations/health/health.controller';
import { AnswerCheck } from '../openapi/answer-check';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { auditOf, chainIsValid, createAgent, propose } from '../support/application/factories';
import { faults, send, type Answer } from '../support/application/send';
import { temporaryDatabase } from '../support/database/temporary-database';
import { operationsOf } from '../support/requests/api-document';

const DECISIONS = '/api/v1/decisions';
const HOUR = 3_600_000;
const YEAR = 365.25 * 24 * HOUR;

describe('Decisions', () => {
  let app: TestApp;
  let proposedBy: string;

  beforeAll(async () => {
    app = await createTestApp({ environment: { REQUIRED_APPROVALS: 'medium=2,critical=100' } });
    proposedBy = (await createAgent(app, { name: 'proposer' })).id;
  });
  afterAll(async () => {
    await chainIsValid(app);
    await app.close();
  });

  const post = (body: unknown): Promise<Answer> => send(app, 'POST', DECISIONS, { body });
  const complete = (members: object): object => ({
    type: 'deployment',
    title: 'Deploy release 4.2',
    proposedBy,
    riskLevel: 'low',
    ...members,
  });

  it('are proposed with 201, the record and its Location', async () => {
    const expiresAt = new Date(Date.now() + HOUR).toISOString();
    const body = complete({ description: 'Rolls out.', context: { change: [1, { a: null }] }, expiresAt });
    const created = await post(body);
    expect(created.status).toBe(201);
    expect(created.body).toEqual({
      ...body,
      id: expect.stringMatching(/^dec_[0-9A-HJKMNP-TV-Z]{26}$/),
      status: 'proposed',
      requiredApprovals: 1,
      reviews: [],
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      updatedAt: created.body.createdAt,
      resolvedAt: null,
      executionId: null,
      actionHash: null,
      approvers: null,
      executeWithin: null,
      traceId: null,
    });
    expect(created.headers.get('location')).toBe(`${DECISIONS}/${created.body.id}`);
    expect(created.headers.get('etag')).toBeNull();
    expect(await send(app, 'GET', `${DECISIONS}/${created.body.id}`)).toMatchObject({
      status: 200,
      body: created.body,
    });
  });

  it.each([{}, { description: null, context: null, expiresAt: null }, { description: '' }])(
    'need no description, context or expiry: %j',
    async (rest) => {
      expect((await post(complete(rest))).body).toMatchObject({ description: '', context: {}, expiresAt: null });
    },
  );

  it.each([
    ['low', 1],
    ['medium', 2],
    ['high', 1],
    ['critical', 100],
  ])('of %s risk need %i approvals, as REQUIRED_APPROVALS says', async (riskLevel, requiredApprovals) => {
    expect((await post(complete({ riskLevel }))).body).toMatchObject({ riskLevel, requiredApprovals });
  });

  it('of executions need that many if a policy names no approvers, even more than its body may require', async () => {
    const body = {
      name: 'as-many-as-needed',
      version: '1',
      effect: 'require_approval',
      approval: { riskLevel: 'critical' },
    };
    const policy = { ...body, subjects: ['*'], actions: ['launch'], resources: ['*'] };
    const create = (approval: object): Promise<Answer> =>
      send(app, 'POST', '/api/v1/policies', { body: { ...policy, approval } });
    const created = await create(policy.approval);
    expect(created.body.approval.approvers).toEqual([{ subjects: ['*'], approvals: 100 }]);
    expect(await create(policy.approval)).toMatchObject({ status: 200, body: { id: created.body.id } });
    expect(Object.keys(faults(await create(created.body.approval)))).toEqual(['approval.approvers[0].approvals']);
    await createAgent(app, { name: 'launcher', capabilities: ['launch'] });
    const answer = await send(app, 'POST', '/api/v1/agents/launcher/execute', {
      body: { action: 'launch', resourceType: 'rocket', resourceId: '1' },
    });
    const decision = await send(app, 'GET', `${DECISIONS}/${answer.body.decisionId}`);
    expect(decision.body.approvers).toEqual([{ subjects: ['*'], approvals: 100, given: 0 }]);
    const document = (await send(app, 'GET', '/docs/openapi.json')).body as OpenAPIObject;
    const [get] = operationsOf(document).filter(({ id }) => id === 'decisions_get');
    expect(get && new AnswerCheck(document).faults(get, decision)).toEqual([]);
  });

  it('keep the number of approvals fixed when they were proposed, even if REQUIRED_APPROVALS changes later', async () => {
    const database = await temporaryDatabase();
    const start = (approvals: string): Promise<TestApp> =>
      createTestApp({ environment: { ...database.environment, REQUIRED_APPROVALS: approvals } });
    let other = await start('low=1');
    try {
      const { id: agentId } = await createAgent(other, { name: 'proposer' });
      const { id: approverId } = await createAgent(other, { name: 'approver' });
      const decision = await propose(other, agentId);
      await other.close();
      other = await start('low=3');
      expect((await propose(other, agentId)).requiredApprovals).toBe(3);
      const { body } = await send(other, 'POST', `${DECISIONS}/${decision.id}/approve`, { body: { approverId } });
      expect(body).toMatchObject({ status: 'approved', requiredApprovals: 1 });
    } finally {
      await other.close();
      await database.remove();
    }
  });

  it('accept every member at its limit', async () => {
    const expiresAt = new Date(Date.now() + 10 * YEAR - HOUR * 24).toISOString();
    const limits = { type: '😀'.repeat(100), title: 't'.repeat(500), description: 'd'.repeat(2000), expiresAt };
    expect(await post(complete(limits))).toMatchObject({ status: 201, body: limits });
  });

  it.each([
    ...['deployment ', ' deployment', 'deployment\u00a0', '\ufeffdeployment', 'deploy\u200bment', 'deploy\u00adment'],
    ...['deploy\u0007ment', '\u202edeployment', 'deployment;', 'deployment;x=1', 'deployment\u037e'],
  ])('are refused with the type %j, which could dodge a policy that denies', async (type) => {
    const answer = await post(complete({ type }));
    expect(answer.status).toBe(400);
    expect(faults(answer)).toEqual({ type: expect.stringMatching(/white space|control or format|";"/) });
  });

  it.each<[members: object, expected: object]>([
    [
      { type: undefined, title: undefined, proposedBy: undefined, riskLevel: undefined },
      {
        type: 'is required',
        title: 'is required',
        proposedBy: 'is required',
        riskLevel: 'is required: one of low, medium, high, critical',
      },
    ],
    [
      { type: ' ', title: '' },
      { type: 'must not be blank', title: 'must not be blank' },
    ],
    [
      { type: 't'.repeat(101), title: 't'.repeat(501), description: 'd'.repeat(2001) },
      {
        type: 'must have 1 to 100 characters',
        title: 'must have 1 to 500 characters',
        description: 'must have at most 2000 characters',
      },
    ],
    [{ riskLevel: 'LOW' }, { riskLevel: 'must be one of low, medium, high, critical' }],
    [{ riskLevel: null }, { riskLevel: 'must be one of low, medium, high, critical' }],
    [{ context: [] }, { context: 'must be an object' }],
    [{ proposedBy: 7 }, { proposedBy: 'must be a string' }],
    [{ status: 'approved' }, { status: expect.stringContaining('is not known here') }],
    [{ requiredApprovals: 0 }, { requiredApprovals: expect.stringContaining('is not known here') }],
  ])('blame every field at fault: %j', async (members, expected) => {
    const answer = await post(complete(members));
    expect(answer).toMatchObject({ status: 400, body: { error: { code: 'VALIDATION_ERROR' } } });
    expect(faults(answer)).toEqual(expected);
  });

  it.each([
    ['2999-01-01', 'with a zone'],
    ['2999-01-01T00:00:00', 'with a zone'],
    ['tomorrow', 'with a zone'],
    [Date.now() + HOUR, 'with a zone'],
    [new Date(Date.now() - 1).toISOString(), 'must be in the future'],
    ['2020-01-01T00:00:00Z', 'must be in the future'],
    [new Date(Date.now() + 10 * YEAR + HOUR * 48).toISOString(), 'at most 10 years'],
  ])('refuse the expiry %s', async (expiresAt, message) => {
    const { error } = (await post(complete({ expiresAt }))).body;
    expect(error.details).toEqual([{ field: 'expiresAt', message: expect.stringContaining(message) }]);
  });

  it('accept an expiry in any zone and return it in UTC with milliseconds', async () => {
    const year = new Date().getUTCFullYear() + 2;
    const { body } = await post(complete({ expiresAt: `${year}-05-06T01:02:03.45678+05:30` }));
    expect(body.expiresAt).toBe(`${year}-05-05T19:32:03.456Z`);
  });

  it.each(['agt_01KAGQ6T0N5V8B3M7C2H9J4XWE', 'nobody'])(
    'refuse a proposer that is neither the id nor the name of an agent: %s',
    async (other) => {
      const answer = await post(complete({ proposedBy: other }));
      expect(answer).toMatchObject({ status: 400, body: { error: { code: 'VALIDATION_ERROR' } } });
      expect(faults(answer)).toEqual({ proposedBy: 'must be the id or the name of an existing agent' });
    },
  );

  it('cannot be proposed by a suspended agent, whose attempt is recorded', async () => {
    const agent = await createAgent(app, { name: 'suspended' });
    await send(app, 'POST', `/api/v1/agents/${agent.id}/suspend`);
    const before: StatisticsResponse = (await send(app, 'GET', '/api/v1/stats')).body;
    const answer = await post(complete({ proposedBy: agent.id, riskLevel: 'high' }));
    expect(answer).toMatchObject({
      status: 403,
      body: { error: { code: 'PERMISSION_DENIED', reason: 'agent_suspended' } },
    });
    expect((await auditOf(app, agent.id)).at(-1)).toMatchObject({
      action: 'decision.proposal_denied',
      subjectType: 'agent',
      agentId: agent.id,
      outcome: 'denied',
      reason: 'agent_suspended',
      requestId: answer.headers.get('x-request-id'),
    });
    const after = (await send(app, 'GET', '/api/v1/stats')).body;
    expect(after.decisions).toBe(before.decisions);
    expect(after.provenanceEntries).toBe(before.provenanceEntries + 1);
  });

  it.each(['dec_01KAGQ8K2M7X4P9T1V5B3N6HJC', 'dec_', 'none', 'ent_1'])('that do not exist are 404: %s', async (id) => {
    const answers = [
      await send(app, 'GET', `${DECISIONS}/${id}`),
      await send(app, 'POST', `${DECISIONS}/${id}/approve`, { body: { approverId: proposedBy } }),
      await send(app, 'POST', `${DECISIONS}/${id}/approve`, { body: { approverId: 'nobody' } }),
      await send(app, 'POST', `${DECISIONS}/${id}/reject`),
    ];
    for (const answer of answers) {
      expect(answer).toMatchObject({
        status: 404,
        body: { error: { code: 'NOT_FOUND', message: 'The decision was not found.' } },
      });
    }
  });

  it('are listed by status, risk level, type and proposer', async () => {
    const other = await createAgent(app, { name: 'other proposer' });
    const first = await propose(app, other.id, { type: 'access', riskLevel: 'high' });
    const second = await propose(app, other.id, { type: 'access', riskLevel: 'medium' });
    const third = await propose(app, other.id, { type: 'purchase', riskLevel: 'high' });
    const rejected = (await send(app, 'POST', `${DECISIONS}/${third.id}/reject`)).body;
    const list = async (query: string): Promise<unknown> =>
      (await send(app, 'GET', `${DECISIONS}?proposedBy=${other.id}&${query}`)).body;
    expect(await list('')).toEqual({ data: [first, second, rejected], total: 3 });
    expect(await list('status=rejected')).toEqual({ data: [rejected], total: 1 });
    expect(await list('status=expired')).toEqual({ data: [], total: 0 });
    expect(await list('riskLevel=high')).toEqual({ data: [first, rejected], total: 2 });
    expect(await list('type=access&riskLevel=medium')).toEqual({ data: [second], total: 1 });
    expect(await list('type=none')).toEqual({ data: [], total: 0 });
  });

  it.each([
    ['status=open', { 'query.status': 'must be one of proposed, approved, rejected, expired, cancelled' }],
    ['riskLevel=High', { 'query.riskLevel': 'must be one of low, medium, high, critical' }],
    ['title=x', { 'query.title': expect.any(String) }],
  ])('refuse to be listed by %s', async (query, expected) => {
    expect(faults(await send(app, 'GET', `${DECISIONS}?${query}`))).toEqual(expected);
  });
});
