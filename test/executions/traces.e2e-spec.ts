import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { chainIsValid, createAgent, createPolicy } from '../support/application/factories';
import { type Answer, isReplayed, send } from '../support/application/send';

const [TRACE, OTHER] = ['4bf92f3577b34da6a3ce929d0e0e4736', '0af7651916cd43dd8448eb211c80319c'];
const BODY = { action: 'read', resourceType: 'document', resourceId: 'a/b' };
const DECISION = { type: 'deployment', title: 'Release 4.2', riskLevel: 'low' };

const traceparent = (traceId: string): string => `00-${traceId}-00f067aa0ba902b7-01`;

describe('The trace of a request', () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await createTestApp();
    await createAgent(app, { name: 'bot', capabilities: ['read', 'pay'] });
    await createAgent(app, { name: 'boss' });
    await createPolicy(app, { actions: ['read'] });
    await createPolicy(app, {
      ...{ actions: ['pay'], effect: 'require_approval' },
      approval: { approvers: [{ subjects: ['agent:boss'] }] },
    });
  });
  afterAll(() => app.close());

  function execute(header: string | null, members: object = {}, key?: string): Promise<Answer> {
    const headers = {
      ...(header !== null && { traceparent: header }),
      ...(key !== undefined && { 'Idempotency-Key': key }),
    };
    return send(app, 'POST', '/api/v1/agents/bot/execute', { body: { ...BODY, ...members }, headers });
  }

  function propose(header: string): Promise<Answer> {
    const body = { ...DECISION, proposedBy: 'bot' };
    return send(app, 'POST', '/api/v1/decisions', { body, headers: { traceparent: header } });
  }

  const idsIn = async (list: string, traceId: string): Promise<string[]> =>
    (await send(app, 'GET', `/api/v1/${list}?traceId=${traceId}`)).body.data.map(({ id }: { id: string }) => id);

  it('is kept with the execution and the decision that it makes, which lists find by it', async () => {
    const executed = (await execute(traceparent(TRACE))).body;
    const request = (await execute(traceparent(TRACE), { action: 'pay' })).body;
    const proposed = (await propose(traceparent(TRACE))).body;
    const refused = await execute(traceparent(TRACE), { action: 'fly' });
    expect([executed.traceId, request.traceId, proposed.traceId]).toEqual([TRACE, TRACE, TRACE]);
    const elsewhere = (await execute(traceparent(OTHER), { resourceId: 'c' })).body;

    const [denied] = (await send(app, 'GET', '/api/v1/executions?action=fly')).body.data;
    expect([refused.status, denied.traceId]).toEqual([403, TRACE]);
    expect(await idsIn('executions', TRACE)).toEqual([executed.id, request.id, denied.id]);
    expect(await idsIn('executions', OTHER)).toEqual([elsewhere.id]);
    expect(await idsIn('decisions', TRACE)).toEqual([request.decisionId, proposed.id]);
    expect(await idsIn('decisions', OTHER)).toEqual([]);
    const decision = (await send(app, 'GET', `/api/v1/decisions/${request.decisionId}`)).body;
    expect(decision.traceId).toBe(TRACE);
  });

  it('stays that of the first request, whichever trace a later one about the same record has', async () => {
    const request = (await execute(traceparent(TRACE), { action: 'pay', resourceId: 'later' })).body;
    const again = (await execute(traceparent(OTHER), { action: 'pay', resourceId: 'later' })).body;
    expect([again.id, again.traceId]).toEqual([request.id, TRACE]);
    const headers = { traceparent: traceparent(OTHER) };
    const path = `/api/v1/decisions/${request.decisionId}/approve`;
    const approved = await send(app, 'POST', path, { body: { approverId: 'boss' }, headers });
    const resumed = await send(app, 'POST', `/api/v1/executions/${request.id}/resume`, { headers });
    expect([approved.body.traceId, resumed.body.traceId]).toEqual([TRACE, TRACE]);
  });

  it('stays that of the first request with an Idempotency-Key', async () => {
    const first = await execute(traceparent(TRACE), {}, 'traced');
    const again = await execute(traceparent(OTHER), {}, 'traced');
    expect([isReplayed(again), again.body]).toEqual([true, first.body]);
    expect(again.body.traceId).toBe(TRACE);
  });

  it.each([
    null,
    'nonsense',
    traceparent('0'.repeat(32)),
    `ff${traceparent(TRACE).slice(2)}`,
    `${traceparent(TRACE)}-x`,
  ])('is null with the header %j', async (header) => {
    const executed = await execute(header);
    expect([executed.status, executed.body.traceId]).toEqual([200, null]);
  });

  it('is sealed, and left out of the sealed form without one', async () => {
    const stateOf = async (header: string | null): Promise<unknown> => {
      const { id } = (await execute(header)).body;
      const [entry] = (await send(app, 'GET', `/api/v1/provenance?subjectId=${id}`)).body.data;
      return (await send(app, 'GET', `/api/v1/provenance/${entry.sequence}`)).body.state;
    };
    expect(await stateOf(traceparent(TRACE))).toMatchObject({ traceId: TRACE });
    expect(await stateOf(null)).not.toHaveProperty('traceId');
    await chainIsValid(app);
  });
});
