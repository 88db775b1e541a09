import { send } from '../support/application/send';
import { stageOf } from '../support/application/stage';
import { approve, approvedChange, changeHeader, type ChangeStage, newPolicy, startChanges } from './support';

const POLICIES = '/api/v1/policies';

describe('A change that needs a second person', () => {
  const stage: ChangeStage = stageOf(() => startChanges());

  it('is answered with 202 and its decision, and changes nothing', async () => {
    const { app, cyd } = stage;
    const body = newPolicy();
    const answer = await send(app, 'POST', POLICIES, { key: cyd.key, body });
    expect(answer).toMatchObject({
      status: 202,
      body: {
        type: 'change',
        title: `Create the policy "${String(body['name'])}" (version 1).`,
        proposedBy: cyd.id,
        riskLevel: 'high',
        status: 'proposed',
        requiredApprovals: 1,
        change: {
          method: 'POST',
          path: POLICIES,
          summary: expect.stringContaining('Create'),
          rules: expect.any(String),
        },
        actor: { type: 'api_key' },
      },
    });
    expect(answer.headers.get('location')).toBe(`/api/v1/decisions/${answer.body.id}`);
    const { createdAt, expiresAt } = answer.body;
    expect(Date.parse(expiresAt) - Date.parse(createdAt)).toBe(7 * 24 * 3_600_000);
    const policies = await send(app, 'GET', POLICIES);
    expect(policies.body.data.map(({ name }: { name: string }) => name)).not.toContain(body['name']);
  });

  it('is made by the same request with the header Change, once', async () => {
    const { app, ada, cyd } = stage;
    const body = newPolicy();
    const id = await approvedChange(app, ['POST', POLICIES, { key: cyd.key, body }], [ada]);
    const made = await send(app, 'POST', POLICIES, { key: cyd.key, body, ...changeHeader(id) });
    expect(made).toMatchObject({ status: 201, body: { name: body['name'], status: 'active' } });
    const entry = (await send(app, 'GET', `/api/v1/audit?subjectId=${made.body.id}`)).body.data[0];
    expect(entry).toMatchObject({ action: 'policy.created', details: { changeId: id } });
    const decision = await send(app, 'GET', `/api/v1/decisions/${id}`);
    expect(decision.body.change.madeAt).toEqual(expect.any(String));
    const again = await send(app, 'POST', POLICIES, { key: cyd.key, body, ...changeHeader(id) });
    expect(again).toMatchObject({ status: 409, body: { error: { code: 'CONFLICT' } } });
  });

  it('waits with the header while its decision is open', async () => {
    const { app, ada, cyd } = stage;
    const body = newPolicy();
    const proposed = await send(app, 'POST', POLICIES, { key: cyd.key, body });
    const header = changeHeader(proposed.body.id);
    const early = await send(app, 'POST', POLICIES, { key: cyd.key, body, ...header });
    expect(early).toMatchObject({ status: 202, body: { id: proposed.body.id, status: 'proposed' } });
    await approve(app, proposed.body.id, ada);
    expect((await send(app, 'POST', POLICIES, { key: cyd.key, body, ...header })).status).toBe(201);
  });

  it('gets the decision that it has already', async () => {
    const { app, ada, cyd } = stage;
    const body = newPolicy();
    const first = await send(app, 'POST', POLICIES, { key: cyd.key, body });
    const again = await send(app, 'POST', POLICIES, { key: cyd.key, body });
    expect([again.status, again.body.id]).toEqual([202, first.body.id]);
    await approve(app, first.body.id, ada);
    const approved = await send(app, 'POST', POLICIES, { key: cyd.key, body });
    expect(approved).toMatchObject({ status: 202, body: { id: first.body.id, status: 'approved' } });
  });

  it('is checked as ever before', async () => {
    const { app, cyd, ada } = stage;
    expect((await send(app, 'POST', POLICIES, { key: cyd.key, body: { name: 'x' } })).status).toBe(400);
    expect((await send(app, 'POST', POLICIES, { key: ada.key, body: newPolicy() })).status).toBe(403);
    const body = newPolicy();
    const id = await approvedChange(app, ['POST', POLICIES, { key: cyd.key, body }], [ada]);
    await send(app, 'POST', POLICIES, { key: cyd.key, body, ...changeHeader(id) });
    expect((await send(app, 'POST', POLICIES, { key: cyd.key, body })).status).toBe(200);
    const other = { ...body, description: 'Other content.' };
    expect((await send(app, 'POST', POLICIES, { key: cyd.key, body: other })).status).toBe(409);
  });
});
