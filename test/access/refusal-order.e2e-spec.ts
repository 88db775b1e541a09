import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { chainIsValid, createAgent, createPolicy, issueKey, propose } from '../support/application/factories';
import { type Answer, type Sent, send } from '../support/application/send';
import { AUDIENCE, claims, ISSUER, newPair, publicKey, signedToken } from './token-signing';

/** Each caller is refused for several reasons; the earlier one in the order of checks is the answer. */
describe('A caller that is refused for several reasons', () => {
  let app: TestApp;
  let folder: string;
  /** The key of a suspended agent, with the scope `propose` alone. */
  let suspended: string;
  /** Keys that are bound to no agent, with the scope `review` or `propose` alone. */
  let reviewer: string;
  let proposer: string;
  /** The headers of an unregistered agent, with the scope `propose` alone. */
  let unknown: Readonly<Record<string, string>>;
  /** The decision of an execution, which unbound callers may not review. */
  let decisionId: string;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'refusal-order-'));
    const pair = await newPair('EdDSA');
    const issuer = { issuer: ISSUER, audience: AUDIENCE, jwks: 'keys.json', agents: ['*'], scopes: ['propose'] };
    writeFileSync(join(folder, 'keys.json'), JSON.stringify({ keys: [await publicKey(pair, 'a')] }));
    writeFileSync(join(folder, 'issuers.json'), JSON.stringify([issuer]));
    app = await createTestApp({ environment: { TOKEN_ISSUERS: join(folder, 'issuers.json') } });
    const { id: agentId } = await createAgent(app, { name: 'bot', capabilities: ['refund'] });
    await createPolicy(app, { effect: 'require_approval' });
    const body = { action: 'refund', resourceType: 'payment', resourceId: 'orders/1' };
    decisionId = (await send(app, 'POST', '/api/v1/agents/bot/execute', { body })).body.decisionId;
    suspended = (await issueKey(app, { agentId, scopes: ['propose'] })).secret;
    reviewer = (await issueKey(app, { scopes: ['review'] })).secret;
    proposer = (await issueKey(app, { scopes: ['propose'] })).secret;
    await send(app, 'POST', '/api/v1/agents/bot/suspend');
    unknown = { Authorization: `Bearer ${await signedToken('EdDSA', pair, { kid: 'a' }, claims({ sub: 'nobody' }))}` };
  });
  afterAll(async () => {
    await chainIsValid(app);
    await app.close();
    rmSync(folder, { recursive: true });
  });

  const reasonOf = ({ status, body }: Answer): unknown[] => [status, body.error.reason];
  const approve = (sent: Sent): Promise<Answer> => send(app, 'POST', `/api/v1/decisions/${decisionId}/approve`, sent);

  it('learns that its agent is unknown or suspended, rather than that a scope is missing', async () => {
    for (const route of [
      'GET /api/v1/entities',
      'POST /api/v1/entities',
      'GET /api/v1/audit',
      'POST /api/v1/api-keys',
    ]) {
      const [method = '', path = ''] = route.split(' ');
      expect(reasonOf(await send(app, method, path, { key: suspended }))).toEqual([403, 'agent_suspended']);
      expect(reasonOf(await send(app, method, path, { key: null, headers: unknown }))).toEqual([403, 'agent_unknown']);
    }
    expect(reasonOf(await approve({ key: suspended }))).toEqual([403, 'agent_suspended']);
    expect(reasonOf(await approve({ key: null, headers: unknown }))).toEqual([403, 'agent_unknown']);
  });

  it('learns it on every route, with any scopes', async () => {
    for (const path of ['me', 'decisions', `decisions/${decisionId}`, 'decisions/none'])
      expect(reasonOf(await send(app, 'GET', `/api/v1/${path}`, { key: suspended }))).toEqual([403, 'agent_suspended']);
  });

  it('learns that a scope is missing, rather than that it is not bound to a reviewer', async () => {
    expect(reasonOf(await approve({ key: proposer }))).toEqual([403, 'scope_missing']);
    expect(reasonOf(await approve({ key: reviewer }))).toEqual([403, 'reviewer_not_bound']);
  });

  it('learns any of it rather than a fault of the request, whose body is not read', async () => {
    const faulty = [
      { body: '{' },
      { body: { nothing: 'known' } },
      { body: {}, headers: { 'Idempotency-Key': 'with spaces in it' } },
      { body: 'x', headers: { 'Content-Type': 'text/plain' } },
      { body: 'x'.repeat(1024 * 1024 + 1) },
    ];
    for (const sent of faulty) {
      expect(reasonOf(await approve({ ...sent, key: suspended }))).toEqual([403, 'agent_suspended']);
      expect(reasonOf(await approve({ ...sent, key: proposer }))).toEqual([403, 'scope_missing']);
      expect(reasonOf(await approve({ ...sent, key: reviewer }))).toEqual([403, 'reviewer_not_bound']);
      const headers = { ...sent.headers, ...unknown };
      expect(reasonOf(await approve({ ...sent, key: null, headers }))).toEqual([403, 'agent_unknown']);
    }
  });

  it('learns none of it where there is no such route or method, or where it sends two keys', async () => {
    for (const sent of [{ key: suspended }, { key: proposer }, { key: null, headers: unknown }]) {
      expect((await send(app, 'GET', '/api/v1/nothing', sent)).status).toBe(404);
      expect((await send(app, 'PATCH', '/api/v1/audit', sent)).status).toBe(405);
    }
    expect((await send(app, 'GET', '/api/v1/audit', { key: suspended, headers: unknown })).status).toBe(401);
  });

  it('learns that it may not review, rather than that a decision is settled or has another proposer', async () => {
    const { id } = await createAgent(app, { name: 'clerk' });
    const plain = await propose(app, id);
    const path = `/api/v1/decisions/${plain.id}/approve`;
    await send(app, 'POST', `/api/v1/decisions/${decisionId}/cancel`);
    expect(reasonOf(await approve({ key: reviewer, body: { approverId: id } }))).toEqual([403, 'reviewer_not_bound']);
    expect(reasonOf(await send(app, 'POST', path, { key: reviewer, body: { approverId: id } }))).toEqual([
      403,
      'self_approval',
    ]);
  });
});
