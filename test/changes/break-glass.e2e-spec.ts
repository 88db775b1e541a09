import { createTestApp } from '../support/application/create-test-app';
import { faults, send, type Sent } from '../support/application/send';
import { stageOf } from '../support/application/stage';
import { runVerifier } from '../support/processes/run-verifier';
import { keyAndLog } from '../evidence/verified-file';
import { approve, type ChangeStage, newPolicy, type Person, register, startChanges } from './support';

const POLICIES = '/api/v1/policies';
const OPEN = '/api/v1/decisions?type=change_review&status=proposed';
const REASON = 'The only reviewer is ill — Grüße';

function atOnce(reason = REASON): Pick<Sent, 'headers'> {
  return { headers: { 'Break-Glass': encodeURIComponent(reason) } };
}

describe('In an emergency', () => {
  const stage: ChangeStage = stageOf(() => startChanges());

  it('a caller with admin makes a change at once, on record, and it is reviewed afterwards', async () => {
    const { app, ada, ben, cyd } = stage;
    const body = newPolicy();
    const refused = await send(app, 'POST', POLICIES, { key: cyd.key, body, ...atOnce() });
    expect(refused).toMatchObject({ status: 403, body: { error: { reason: 'scope_missing' } } });
    const made = await send(app, 'POST', POLICIES, { body, ...atOnce() });
    expect(made.status).toBe(201);
    const entry = (await send(app, 'GET', `/api/v1/audit?subjectId=${made.body.id}`)).body.data[0];
    expect(entry).toMatchObject({ action: 'policy.created', reason: REASON, details: { breakGlass: true } });
    const open = await send(app, 'GET', '/api/v1/decisions?type=change_review&status=proposed');
    expect(open.body).toMatchObject({
      total: 1,
      data: [
        {
          description: REASON,
          proposedBy: null,
          expiresAt: null,
          requiredApprovals: 2,
          change: { method: 'POST', path: POLICIES },
        },
      ],
    });
    const [{ id }] = open.body.data;
    expect((await send(app, 'POST', `/api/v1/decisions/${id}/cancel`)).status).toBe(409);
    expect((await send(app, 'POST', `/api/v1/decisions/${id}/reject`)).status).toBe(403);
    // Whoever broke the glass may be one of the reviewers.
    expect((await approve(app, id, ada)).body.status).toBe('proposed');
    expect((await approve(app, id, ben)).body.status).toBe('approved');
  });

  it('what needs no second person is no part of it, and leaves a log that verifies', async () => {
    const { app } = stage;
    const sent = { body: { description: 'It answers letters.' }, ...atOnce() };
    const { body } = await send(app, 'PATCH', '/api/v1/agents/cyd', sent);
    expect(body.description).toBe(sent.body.description);
    const [entry] = (await send(app, 'GET', `/api/v1/audit?subjectId=${body.id}`)).body.data;
    expect(entry).toMatchObject({ action: 'agent.updated', reason: null, details: { fields: ['description'] } });
    expect(entry.details).not.toHaveProperty('breakGlass');
    expect((await send(app, 'GET', OPEN)).body.total).toBe(0);
    expect((await runVerifier(['-'], (await keyAndLog(app)).log)).output).toMatch(/\nVALID\n$/);
  });

  it('nobody settles its review alone, not even by a rejection', async () => {
    const { app, ada, ben } = stage;
    expect((await send(app, 'POST', POLICIES, { body: newPolicy(), ...atOnce() })).status).toBe(201);
    const [{ id }] = (await send(app, 'GET', OPEN)).body.data;
    const path = `/api/v1/decisions/${id}/reject`;
    const rejected = await send(app, 'POST', path, { key: ada.key, body: { approverId: ada.id } });
    expect(rejected).toMatchObject({ status: 200, body: { status: 'proposed', approvers: [{ given: 1 }] } });
    expect((await send(app, 'GET', `/api/v1/decisions/${id}/approvers`)).body.feasible).toBe(true);
    expect((await approve(app, id, ben)).body.status).toBe('rejected');
  });

  it('a key and a person that come from it decide on no change until it was reviewed', async () => {
    const { app, ada, ben } = stage;
    const review = async (person: Person): Promise<void> => {
      const { data } = (await send(app, 'GET', OPEN)).body;
      for (const { id } of data) expect((await approve(app, id, person)).status).toBe(200);
    };
    const keyOf = async (name: string): Promise<string> => {
      const body = { name: 'sock', scopes: ['review'], agentId: name };
      const answer = await send(app, 'POST', '/api/v1/api-keys', { body, ...atOnce() });
      expect(answer.status).toBe(201);
      return String(answer.body.secret);
    };
    const { body: decision } = await send(app, 'POST', POLICIES, { body: newPolicy() });
    const sock = { ...ben, key: await keyOf('ben') };
    const refusal = { status: 403, body: { error: { reason: 'not_an_approver' } } };
    const [{ id }] = (await send(app, 'GET', OPEN)).body.data;
    for (const one of [decision.id, id]) expect(await approve(app, one, sock)).toMatchObject(refusal);
    const person = { name: 'zoe', kind: 'human', capabilities: [] };
    const { body: zoe } = await send(app, 'POST', '/api/v1/agents', { body: person, ...atOnce() });
    const late = { id: zoe.id, name: 'zoe', key: ben.key };
    const waiting = `/api/v1/decisions?awaiting=${zoe.id}&type=change`;
    expect((await send(app, 'GET', waiting)).body.total).toBe(0);
    await review(ada);
    expect((await send(app, 'GET', waiting)).body.total).toBe(0);
    expect(await approve(app, decision.id, sock)).toMatchObject(refusal);
    await review(ben);
    expect((await send(app, 'GET', waiting)).body.total).toBeGreaterThan(0);
    expect((await approve(app, decision.id, sock)).status).toBe(200);
    expect((await approve(app, decision.id, { ...late, key: await keyOf('zoe') })).status).toBe(403);
    await review(ada);
    await review(ben);
  });

  it.each([
    ['PUT', '/api/v1/agents/ada/email', { email: 'eve@example.com' }],
    ['DELETE', '/api/v1/agents/ada/email', undefined],
    ['PATCH', '/api/v1/webhooks/whk_1', { actions: ['execution.denied'] }],
    ['DELETE', '/api/v1/webhooks/whk_1', undefined],
  ])('%s %s waits: it would change who is told', async (method, path, body) => {
    const answer = await send(stage.app, method, path, { ...(body !== undefined && { body }), ...atOnce() });
    expect([answer.status, Object.keys(faults(answer))]).toEqual([400, ['header.Break-Glass']]);
  });

  it('nobody reviews who was registered in it, and at most three wait', async () => {
    const { app, ada, ben } = stage;
    const person = { name: 'eve', kind: 'human', capabilities: [] };
    const eve = await send(app, 'POST', '/api/v1/agents', { body: person, ...atOnce() });
    expect(eve.status).toBe(201);
    const keyBody = { name: 'eve', scopes: ['review'], agentId: 'eve' };
    const key = await send(app, 'POST', '/api/v1/api-keys', { body: keyBody, ...atOnce() });
    expect((await send(app, 'POST', POLICIES, { body: newPolicy(), ...atOnce() })).status).toBe(201);
    const fourth = await send(app, 'POST', POLICIES, { body: newPolicy(), ...atOnce() });
    expect(fourth.status).toBe(409);
    const open = await send(app, 'GET', '/api/v1/decisions?type=change_review&status=proposed');
    expect(open.body.total).toBe(3);
    for (const { id } of open.body.data) {
      const own = await approve(app, id, { id: eve.body.id, name: 'eve', key: key.body.secret });
      expect(own).toMatchObject({ status: 403, body: { error: { reason: 'not_an_approver' } } });
    }
    for (const { id } of open.body.data)
      for (const reviewer of [ada, ben]) expect((await approve(app, id, reviewer)).status).toBe(200);
    expect((await send(app, 'POST', POLICIES, { body: newPolicy(), ...atOnce() })).status).toBe(201);
  });

  it('what would change nothing, or is refused, breaks no glass', async () => {
    const { app } = stage;
    const body = newPolicy();
    expect((await send(app, 'POST', POLICIES, { body, ...atOnce() })).status).toBe(201);
    const before = await send(app, 'GET', '/api/v1/decisions?type=change_review&limit=1');
    expect((await send(app, 'POST', POLICIES, { body, ...atOnce() })).status).toBe(200);
    const other = { ...body, description: 'Other.' };
    expect((await send(app, 'POST', POLICIES, { body: other, ...atOnce() })).status).toBe(409);
    const after = await send(app, 'GET', '/api/v1/decisions?type=change_review&limit=1');
    expect(after.body.total).toBe(before.body.total);
  });

  it('is counted by the report', async () => {
    const { app, ada, cyd } = stage;
    const body = newPolicy();
    const { body: decision } = await send(app, 'POST', POLICIES, { key: cyd.key, body });
    await approve(app, decision.id, ada);
    await send(app, 'POST', POLICIES, { key: cyd.key, body, headers: { Change: decision.id } });
    const { body: report } = await send(app, 'GET', '/api/v1/reports/oversight');
    expect(report.changes).toEqual({ proposed: 2, approved: 1, rejected: 0, made: 1, breakGlass: 10, unreviewed: 2 });
  });
});

describe('Without two reviewers', () => {
  it('there is no emergency', async () => {
    const app = await createTestApp({ environment: { FOUR_EYES: 'true' } });
    await register(app, 'ada');
    expect((await send(app, 'POST', POLICIES, { body: newPolicy(), ...atOnce() })).status).toBe(201);
    expect((await send(app, 'GET', '/api/v1/decisions?type=change_review')).body.total).toBe(0);
    await app.close();
  });
});
