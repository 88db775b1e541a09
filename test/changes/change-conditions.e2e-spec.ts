import { LedgerClock } from '../../src/ledger/head/ledger-clock';
import { faults, send } from '../support/application/send';
import { stageOf } from '../support/application/stage';
import { approve, approvedChange, changeHeader, type ChangeStage, newPolicy, startChanges } from './support';

const POLICIES = '/api/v1/policies';
const RESUMED = { headers: { 'Break-Glass': 'Suspended by mistake' } };

describe('An approved change', () => {
  const stage: ChangeStage = stageOf(() => startChanges({ CHANGE_WITHIN: 'PT1H' }));

  it('is another one with another body, path or caller', async () => {
    const { app, ada, ben, cyd } = stage;
    const body = newPolicy();
    const id = await approvedChange(app, ['POST', POLICIES, { key: cyd.key, body }], [ada]);
    const header = changeHeader(id);
    const other = { ...body, description: 'Another body.' };
    expect((await send(app, 'POST', POLICIES, { key: cyd.key, body: other, ...header })).status).toBe(409);
    expect((await send(app, 'POST', POLICIES, { body, ...header })).status).toBe(409);
    const agents = { key: cyd.key, body: { name: 'other path' }, ...header };
    expect((await send(app, 'POST', '/api/v1/agents', agents)).status).toBe(409);
    expect((await send(app, 'POST', POLICIES, { key: cyd.key, body, ...header })).status).toBe(201);
    expect(ben.id).not.toBe(ada.id);
  });

  it('is not made under other policies, and is proposed anew', async () => {
    const { app, ada, cyd } = stage;
    const first = newPolicy();
    const second = newPolicy();
    const firstId = await approvedChange(app, ['POST', POLICIES, { key: cyd.key, body: first }], [ada]);
    const secondId = await approvedChange(app, ['POST', POLICIES, { key: cyd.key, body: second }], [ada]);
    expect((await send(app, 'POST', POLICIES, { key: cyd.key, body: first, ...changeHeader(firstId) })).status).toBe(
      201,
    );
    const late = await send(app, 'POST', POLICIES, { key: cyd.key, body: second, ...changeHeader(secondId) });
    expect(late).toMatchObject({ status: 409, body: { error: { message: expect.stringContaining('policies') } } });
    const anew = await send(app, 'POST', POLICIES, { key: cyd.key, body: second });
    expect([anew.status, anew.body.id === secondId]).toEqual([202, false]);
  });

  it('stays approved if another check refuses it, If-Match among them', async () => {
    const { app, ada, cyd } = stage;
    const header = { key: ada.key };
    const agent = await send(app, 'GET', `/api/v1/agents/${ada.id}`, header);
    expect(agent.status).toBe(200);
    const path = '/api/v1/agents/machine';
    const made = { key: cyd.key, body: { name: 'machine', capabilities: [] } };
    const created = await approvedChange(app, ['POST', '/api/v1/agents', made], [ada]);
    await send(app, 'POST', '/api/v1/agents', { ...made, ...changeHeader(created) });
    const body = { roles: ['ops'] };
    const stale = await send(app, 'PATCH', path, { key: cyd.key, body, headers: { 'If-Match': '"9"' } });
    expect(stale.status).toBe(412);
    const id = await approvedChange(
      app,
      ['PATCH', path, { key: cyd.key, body, headers: { 'If-Match': '"1"' } }],
      [ada],
    );
    const described = await send(app, 'PATCH', path, { key: cyd.key, body: { description: 'At once.' } });
    expect(described.status).toBe(200);
    const sent = { key: cyd.key, body };
    const late = await send(app, 'PATCH', path, { ...sent, headers: { 'If-Match': '"1"', Change: id } });
    expect(late.status).toBe(412);
    expect((await send(app, 'PATCH', path, { ...sent, headers: { 'If-Match': '"2"', Change: id } })).status).toBe(200);
  });

  it('ends with its time', async () => {
    const { app, ada, cyd } = stage;
    const body = newPolicy();
    const id = await approvedChange(app, ['POST', POLICIES, { key: cyd.key, body }], [ada]);
    const now = jest.spyOn(LedgerClock.prototype, 'timeAfter');
    now.mockImplementation(() => new Date(Date.now() + 3_700_000).toISOString());
    try {
      const late = await send(app, 'POST', POLICIES, { key: cyd.key, body, ...changeHeader(id) });
      expect(late).toMatchObject({
        status: 409,
        body: { error: { message: expect.stringContaining('CHANGE_WITHIN') } },
      });
      const again = await send(app, 'POST', POLICIES, { key: cyd.key, body });
      expect([again.status, again.body.id === id]).toEqual([202, false]);
    } finally {
      now.mockRestore();
    }
  });

  it('is proposed anew if somebody who approved it is suspended by then', async () => {
    const { app, ada, cyd } = stage;
    const body = newPolicy();
    const id = await approvedChange(app, ['POST', POLICIES, { key: cyd.key, body }], [ada]);
    await send(app, 'POST', '/api/v1/agents/ada/suspend');
    const refused = await send(app, 'POST', POLICIES, { key: cyd.key, body, ...changeHeader(id) });
    expect(refused).toMatchObject({ status: 409, body: { error: { message: expect.stringContaining('suspended') } } });
    const again = await send(app, 'POST', POLICIES, { key: cyd.key, body });
    expect([again.status, again.body.id === id]).toEqual([202, false]);
    expect((await send(app, 'POST', '/api/v1/agents/ada/resume', RESUMED)).status).toBe(200);
    expect((await send(app, 'POST', POLICIES, { key: cyd.key, body, ...changeHeader(id) })).status).toBe(201);
  });

  it('is refused once its decision was rejected or cancelled', async () => {
    const { app, ada, cyd } = stage;
    for (const verb of ['reject', 'cancel']) {
      const body = newPolicy();
      const { body: decision } = await send(app, 'POST', POLICIES, { key: cyd.key, body });
      const key = verb === 'reject' ? ada.key : cyd.key;
      expect((await send(app, 'POST', `/api/v1/decisions/${decision.id}/${verb}`, { key })).status).toBe(200);
      const refused = await send(app, 'POST', POLICIES, { key: cyd.key, body, ...changeHeader(decision.id) });
      expect([verb, refused.status]).toEqual([verb, 409]);
    }
  });

  it('takes only well-formed headers', async () => {
    const { app, cyd } = stage;
    const sent = { key: cyd.key, body: newPolicy() };
    const malformed = await send(app, 'POST', POLICIES, { ...sent, headers: { Change: 'dec_1' } });
    expect([malformed.status, Object.keys(faults(malformed))]).toEqual([400, ['header.Change']]);
    const unknown = await send(app, 'POST', POLICIES, { ...sent, ...changeHeader(`dec_${'0'.repeat(26)}`) });
    expect(unknown.status).toBe(409);
    const short = await send(app, 'POST', POLICIES, { ...sent, headers: { 'Break-Glass': 'short' } });
    expect([short.status, Object.keys(faults(short))]).toEqual([400, ['header.Break-Glass']]);
    const unseen = { 'Break-Glass': encodeURIComponent(`short${'\u200b'.repeat(20)}`) };
    const hidden = await send(app, 'POST', POLICIES, { ...sent, headers: unseen });
    expect([hidden.status, Object.keys(faults(hidden))]).toEqual([400, ['header.Break-Glass']]);
  });
});

describe('The body of a change', () => {
  const stage: ChangeStage = stageOf(() => startChanges());

  it('is shown to reviewers until the decision is settled', async () => {
    const { app, ada, cyd } = stage;
    const body = newPolicy();
    const { body: decision } = await send(app, 'POST', POLICIES, { key: cyd.key, body });
    const path = `/api/v1/decisions/${decision.id}/change`;
    expect(await send(app, 'GET', path, { key: ada.key })).toMatchObject({
      status: 200,
      body: { method: 'POST', body },
    });
    expect((await send(app, 'GET', path, { key: cyd.key })).status).toBe(403);
    await approve(app, decision.id, ada);
    expect((await send(app, 'GET', path, { key: ada.key })).status).toBe(410);
    expect((await send(app, 'GET', '/api/v1/decisions/dec_x/change', { key: ada.key })).status).toBe(404);
  });

  it('of many changes is bounded in number, and in size', async () => {
    const { app, cyd } = stage;
    for (;;) {
      const answer = await send(app, 'POST', POLICIES, { key: cyd.key, body: newPolicy() });
      if (answer.status === 202) continue;
      expect(answer.status).toBe(409);
      break;
    }
    const open = await send(app, 'GET', '/api/v1/decisions?type=change&status=proposed&limit=1');
    expect(open.body.total).toBe(100);
  });
});

describe('A decision on a change', () => {
  const stage: ChangeStage = stageOf(() => startChanges());

  it('is made by the service only', async () => {
    const { app, cyd } = stage;
    for (const type of ['change', 'change_review']) {
      const body = { type, title: 'x', proposedBy: cyd.id, riskLevel: 'low' };
      expect(faults(await send(app, 'POST', '/api/v1/decisions', { body }))).toHaveProperty('type');
    }
  });

  it('is approved by people with keys of their own alone, and not by its proposer', async () => {
    const { app, ada, ben, cyd } = stage;
    const { body: decision } = await send(app, 'POST', POLICIES, { key: cyd.key, body: newPolicy() });
    const path = `/api/v1/decisions/${decision.id}/approve`;
    const asOperator = await send(app, 'POST', path, { body: { approverId: ada.id } });
    expect(asOperator).toMatchObject({ status: 403, body: { error: { reason: 'reviewer_not_bound' } } });
    const together = { decisions: [{ id: decision.id, actionHash: null }], approverId: ada.id };
    const atOnce = await send(app, 'POST', '/api/v1/decisions/approve', { key: ada.key, body: together });
    expect(atOnce.status).toBe(409);
    const own = await send(app, 'POST', POLICIES, { key: cyd.key, body: newPolicy() });
    const approvers = await send(app, 'GET', `/api/v1/decisions/${own.body.id}/approvers`, { key: ada.key });
    const able = approvers.body.data.filter((one: { able: boolean }) => one.able);
    expect(able.map(({ name }: { name: string }) => name).sort()).toEqual(['ada', 'ben']);
    expect((await approve(app, decision.id, ben)).body.status).toBe('approved');
  });

  it('can be followed and cancelled by whoever proposed it, and by nobody else without admin', async () => {
    const { app, ada, cyd } = stage;
    const { body: decision } = await send(app, 'POST', POLICIES, { key: cyd.key, body: newPolicy() });
    const path = `/api/v1/decisions/${decision.id}`;
    expect((await send(app, 'GET', path, { key: cyd.key })).status).toBe(200);
    const foreign = await send(app, 'POST', `${path}/cancel`, { key: ada.key });
    expect(foreign).toMatchObject({ status: 403, body: { error: { reason: 'scope_missing' } } });
    expect((await send(app, 'POST', `${path}/cancel`, { key: cyd.key })).body.status).toBe('cancelled');
    const another = await send(app, 'POST', POLICIES, { key: cyd.key, body: newPolicy() });
    expect((await send(app, 'POST', `/api/v1/decisions/${another.body.id}/cancel`)).status).toBe(200);
    const ordinary = await send(app, 'POST', '/api/v1/decisions', {
      body: { type: 'deployment', title: 'x', proposedBy: ada.id, riskLevel: 'low' },
    });
    expect((await send(app, 'GET', `/api/v1/decisions/${ordinary.body.id}`, { key: cyd.key })).status).toBe(403);
  });
});

describe('With one reviewer', () => {
  const stage: ChangeStage = stageOf(async () => {
    const started = await startChanges({ CHANGE_APPROVERS: '[{"subjects":["role:security"]}]' });
    return started;
  });

  it('nothing is held back, until two people of CHANGE_APPROVERS could have reviewed at once', async () => {
    const { app } = stage;
    const patch = (name: string): ReturnType<typeof send> =>
      send(app, 'PATCH', `/api/v1/agents/${name}`, { body: { roles: ['security'] } });
    expect((await send(app, 'POST', POLICIES, { body: newPolicy() })).status).toBe(201);
    expect((await patch('ada')).status).toBe(200);
    expect((await send(app, 'POST', POLICIES, { body: newPolicy() })).status).toBe(201);
    expect((await patch('ben')).status).toBe(200);
    expect((await send(app, 'POST', POLICIES, { body: newPolicy() })).status).toBe(202);
    expect((await send(app, 'POST', '/api/v1/agents/ben/suspend')).status).toBe(200);
    expect((await send(app, 'POST', POLICIES, { body: newPolicy() })).status).toBe(202);
    const { id } = (await send(app, 'GET', '/api/v1/agents/ada')).body;
    expect([id, (await createAgentStatus(app)).status]).toEqual([id, 202]);
  });
});

function createAgentStatus(app: ChangeStage['app']): ReturnType<typeof send> {
  return send(app, 'POST', '/api/v1/agents', { body: { name: 'late', kind: 'human', capabilities: [] } });
}

describe('A key that two people approved', () => {
  const stage: ChangeStage = stageOf(() => startChanges());

  it('is answered with its secret once, to the proposer', async () => {
    const { app, ada, ben } = stage;
    const { secret } = await issueByTwo();
    expect(secret).toMatch(/^agk_/);
    const exported = await send(app, 'GET', '/api/v1/provenance/export');
    expect(exported.text).not.toContain(secret);

    async function issueByTwo(): Promise<{ secret: string }> {
      const body = { name: 'new', scopes: ['read'] };
      const id = await approvedChange(app, ['POST', '/api/v1/api-keys', { body }], [ada, ben]);
      const made = await send(app, 'POST', '/api/v1/api-keys', { body, ...changeHeader(id) });
      expect(made.status).toBe(201);
      expect((await send(app, 'POST', '/api/v1/api-keys', { body, ...changeHeader(id) })).status).toBe(409);
      return made.body as { secret: string };
    }
  });
});
