import { setTimeout as sleep } from 'node:timers/promises';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { auditOf, chainIsValid, createAgent, issueKey, propose } from '../support/application/factories';
import { runVerifier } from '../support/processes/run-verifier';
import { send, type Parsed } from '../support/application/send';
import { describeOnSqlite } from '../support/database/database-kind';
import { temporaryDatabase } from '../support/database/temporary-database';

/** Milliseconds before another refusal of the same caller, for the same reason, is recorded again. */
const INTERVAL = 1_000;

describe('A refused caller', () => {
  let app: TestApp;

  beforeAll(async () => (app = await createTestApp()));
  afterAll(async () => {
    await chainIsValid(app);
    await app.close();
  });

  async function denialsOf(subjectId: string): Promise<Parsed[]> {
    return (await auditOf(app, subjectId)).filter(({ action }) => action === 'access.denied');
  }

  it('is on record by the time it is answered: who, for what, and which scope would suffice', async () => {
    const { id: agentId } = await createAgent(app, { name: 'bot' });
    const { id, secret: key } = await issueKey(app, { agentId });
    const headers = { 'X-Request-Id': 'the-refused-one' };
    const answer = await send(app, 'POST', '/api/v1/agents/bot/execute', { key, headers, body: {} });
    expect(answer.status).toBe(403);
    const [entry, ...others] = await denialsOf(id);
    expect(others).toEqual([]);
    expect(entry).toMatchObject({
      actor: { type: 'api_key', id },
      ...{ agentId, entityId: null, subjectType: 'api_key', subjectId: id },
      ...{ outcome: 'denied', reason: 'scope_missing', requestId: 'the-refused-one', ip: '127.0.0.1' },
      details: { method: 'POST', route: '/api/v1/agents/:id/execute', scope: 'execute', target: 'bot' },
    });
    const proof = (await send(app, 'GET', `/api/v1/provenance/${entry?.sequence}`)).body;
    expect([proof.stateHash, proof.state]).toEqual([null, null]);
  });

  it('leaves at most one entry a second for each reason; the metrics count every refusal', async () => {
    const { id: agentId } = await createAgent(app, { name: 'busy-bot' });
    const { id, secret: key } = await issueKey(app, { agentId, scopes: ['propose', 'agents'] });
    const before = await counted('scope_missing');
    const began = performance.now();
    const refused = Array.from({ length: 20 }, () => send(app, 'GET', '/api/v1/entities', { key }));
    expect((await Promise.all(refused)).every(({ status }) => status === 403)).toBe(true);
    await send(app, 'POST', `/api/v1/agents/${agentId}/suspend`, { key });
    const reasons = (await denialsOf(id)).map(({ reason }) => reason).sort();
    expect([...new Set(reasons)]).toEqual(['own_agent', 'scope_missing']);
    // On a busy machine the requests may take more than one interval, and each interval allows another entry.
    expect(reasons.length).toBeLessThanOrEqual(2 + Math.floor((performance.now() - began) / INTERVAL));
    expect(await counted('scope_missing')).toBe(before + 20);
    await sleep(INTERVAL);
    await send(app, 'GET', '/api/v1/entities', { key });
    expect(await denialsOf(id)).toHaveLength(reasons.length + 1);
  });

  async function counted(reason: string): Promise<number> {
    const { text } = await send(app, 'GET', '/metrics');
    const line = new RegExp(`^governance_access_denials_total\\{reason="${reason}"\\} (\\d+)$`, 'm').exec(text);
    return Number(line?.[1] ?? 0);
  }

  it('is on record for each reason separately', async () => {
    const { id: agentId } = await createAgent(app, { name: 'many-bot' });
    const { id: other } = await createAgent(app, { name: 'another' });
    const { id, secret: key } = await issueKey(app, { agentId, scopes: ['propose', 'agents', 'read'] });
    const body = { type: 'a', title: 'b', riskLevel: 'low', proposedBy: other };
    await send(app, 'POST', '/api/v1/decisions', { key, body });
    await send(app, 'PATCH', `/api/v1/agents/${agentId}`, { key, body: { description: 'x' } });
    await send(app, 'GET', '/api/v1/audit', { key });
    await send(app, 'POST', `/api/v1/agents/${agentId}/suspend`);
    await send(app, 'GET', '/api/v1/me', { key });
    const entries = await denialsOf(id);
    expect(entries.map(({ reason, details }) => [reason, details.route, details.scope])).toEqual([
      ['not_this_agent', '/api/v1/decisions', undefined],
      ['own_agent', '/api/v1/agents/:id', undefined],
      ['scope_missing', '/api/v1/audit', 'audit'],
      ['agent_suspended', '/api/v1/me', undefined],
    ]);
  });

  it.each([
    ['Ann Smith, 12 High Street', undefined],
    ['agt_01JDPZ3T5Q0000000000000000', 'agt_01JDPZ3T5Q0000000000000000'],
    ['named-bot', 'named-bot'],
    ['nobody-bot', undefined],
  ])('is recorded with the target %j only if it is an id or a name: %j', async (path, target) => {
    if (path === 'named-bot') await createAgent(app, { name: path });
    const { id, secret: key } = await issueKey(app);
    const url = `/api/v1/agents/${encodeURIComponent(path)}/suspend`;
    expect((await send(app, 'POST', url, { key, body: {} })).status).toBe(403);
    expect((await denialsOf(id)).map(({ details }) => details.target)).toEqual([target]);
  });

  it('leaves no such entry if a rule refused it, which has an entry of its own, or if the caller is unknown', async () => {
    const { id: agentId } = await createAgent(app, { name: 'proposing-bot' });
    const { id, secret: key } = await issueKey(app, { agentId, scopes: ['review'] });
    const decision = await propose(app, agentId);
    expect((await send(app, 'POST', `/api/v1/decisions/${decision.id}/approve`, { key })).status).toBe(403);
    expect((await send(app, 'GET', '/api/v1/entities', { key: `${key}x` })).status).toBe(401);
    expect(await denialsOf(id)).toEqual([]);
  });
});

describe('The key of the environment, refused as a reviewer', () => {
  it('is the subject "env", which is not a record, and the records verify', async () => {
    const app = await createTestApp({ environment: { REQUIRE_BOUND_REVIEWERS: 'true' } });
    await send(app, 'POST', '/api/v1/decisions/x/approve');
    const entries = await auditOf(app, 'env');
    expect(entries).toMatchObject([{ action: 'access.denied', subjectType: 'api_key', reason: 'reviewer_not_bound' }]);
    expect(entries[0]?.details).toEqual({ method: 'POST', route: '/api/v1/decisions/:id/approve' });
    await chainIsValid(app);
    await app.close();
  });
});

describeOnSqlite('The offline verifier', () => {
  it('does not take the entry about a refused caller for the last state of its key', async () => {
    const database = await temporaryDatabase();
    const app = await createTestApp({ environment: database.environment });
    const { secret: key } = await issueKey(app);
    await send(app, 'GET', '/api/v1/audit', { key });
    await app.close();
    const { exitCode, output } = await runVerifier([database.path]);
    expect([exitCode, output]).toEqual([0, expect.not.stringContaining('token')]);
    await database.remove();
  });
});
