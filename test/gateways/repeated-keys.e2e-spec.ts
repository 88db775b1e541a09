import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { createAgent, createPolicy } from '../support/application/factories';
import { type Answer, isReplayed, send } from '../support/application/send';
import { signedTokens } from '../support/application/signed-tokens';

const ISSUER = 'https://login.example.org';
const APPROVAL = { approvers: [{ subjects: ['agent:boss'] }], grant: { for: 'PT1H', uses: 5 } };

describe('A key under which a gateway was authorised', () => {
  let app: TestApp;
  let folder: string;
  /** Tokens of one agent, for two principals. */
  let forAnn: string;
  let forBob: string;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'repeated-keys-'));
    const claims = { iss: ISSUER, sub: 'bot', aud: 'governance' };
    const { keys, tokens } = await signedTokens({ ...claims, act_for: 'ann' }, { ...claims, act_for: 'bob' });
    [forAnn = '', forBob = ''] = tokens.map(({ EdDSA = '' }) => EdDSA);
    const names = { issuer: ISSUER, audience: 'governance', jwks: 'keys.json', principalClaim: 'act_for' };
    writeFileSync(join(folder, 'keys.json'), JSON.stringify({ keys }));
    writeFileSync(
      join(folder, 'issuers.json'),
      JSON.stringify([{ ...names, agents: ['bot'], scopes: ['read', 'execute'] }]),
    );
    app = await createTestApp({
      environment: { RATE_LIMIT: '1000000', TOKEN_ISSUERS: join(folder, 'issuers.json') },
    });
    await createAgent(app, { name: 'bot', capabilities: ['refund', 'pay', 'order'] });
    await createAgent(app, { name: 'boss', kind: 'human' });
    await createPolicy(app, { actions: ['refund'] });
    await createPolicy(app, { effect: 'require_approval', actions: ['pay'], approval: APPROVAL });
  });
  afterAll(async () => {
    await app.close();
    rmSync(folder, { recursive: true });
  });

  const body = (resourceId: string, more: object = {}): object => ({
    ...{ action: 'refund', resourceType: 'charge', resourceId, via: 'payments' },
    ...more,
  });
  function ask(request: object, key: string, token?: string): Promise<Answer> {
    const headers = { 'Idempotency-Key': key, ...(token !== undefined && { Authorization: `Bearer ${token}` }) };
    const path = '/api/v1/agents/bot/execute';
    return send(app, 'POST', path, { body: request, headers, ...(token !== undefined && { key: null }) });
  }
  const approve = async (decisionId: string, more: object = {}): Promise<number> =>
    (await send(app, 'POST', `/api/v1/decisions/${decisionId}/approve`, { body: { approverId: 'boss', ...more } }))
      .status;
  const executionsOf = async (resourceId: string): Promise<number> =>
    (await send(app, 'GET', `/api/v1/executions?resourceId=${resourceId}`)).body.total;
  const already = (id: string): object => ({ code: 'CONFLICT', reason: 'already_authorized', executionId: id });

  it('authorises nothing else once an approval is needed, and nothing is recorded', async () => {
    const first = await ask(body('policy'), 'policy');
    expect([first.status, first.body.outcome]).toEqual([200, 'authorized']);
    await createPolicy(app, { effect: 'require_approval', resources: ['policy'], approval: APPROVAL });
    for (let times = 0; times < 2; times += 1) {
      const again = await ask(body('policy'), 'policy');
      expect([again.status, isReplayed(again)]).toEqual([409, false]);
      expect(again.body.error).toMatchObject(already(first.body.id));
    }
    expect(await executionsOf('policy')).toBe(1);
    expect((await ask(body('policy'), 'another')).status).toBe(202);
  });

  it.each([[undefined], [null]])('is a new request then without a gateway (%s)', async (via) => {
    const direct = body(`direct-${String(via)}`, { via });
    const key = `direct-${String(via)}`;
    expect((await ask(direct, key)).status).toBe(200);
    await createPolicy(app, {
      ...{ effect: 'require_approval', resources: [`direct-${String(via)}`], approval: APPROVAL },
    });
    expect((await ask(direct, key)).status).toBe(202);
  });

  it('is refused on record where policies deny it now', async () => {
    expect((await ask(body('denied'), 'denied')).status).toBe(200);
    await createPolicy(app, { effect: 'deny', resources: ['denied'] });
    const { status, body: answer } = await ask(body('denied'), 'denied');
    expect([status, answer.error.reason]).toEqual([403, 'policy_denied']);
    expect(await executionsOf('denied')).toBe(2);
  });

  it('is not authorised by its own execution, which a new request would find as an earlier one', async () => {
    const order = body('chained', { action: 'order' });
    const { id } = await createPolicy(app, { actions: ['order'] });
    const first = await ask(order, 'chained');
    expect([first.status, first.body.outcome]).toEqual([200, 'authorized']);
    const earlier = { earlier: 'order', within: 'PT1H', op: 'exists', value: true };
    await createPolicy(app, { actions: ['order'], conditions: [earlier] });
    expect((await send(app, 'POST', `/api/v1/policies/${id}/deactivate`)).status).toBe(200);
    const again = await ask(order, 'chained');
    expect([again.status, again.body.error]).toEqual([409, expect.objectContaining(already(first.body.id))]);
    expect(await executionsOf('chained')).toBe(1);
    expect((await ask(order, 'another-chained')).status).toBe(200);
  });

  it('takes no use of another grant once its own has ended', async () => {
    const pay = body('granted', { action: 'pay' });
    const grantOf = async (key: string): Promise<string> => {
      const request = await ask(pay, key);
      expect(request.status).toBe(202);
      expect(await approve(request.body.decisionId, { grant: APPROVAL.grant })).toBe(200);
      const [grant] = (await send(app, 'GET', `/api/v1/grants?decisionId=${request.body.decisionId}`)).body.data;
      expect((await send(app, 'POST', `/api/v1/executions/${request.body.id}/resume`)).status).toBe(200);
      return grant.id;
    };
    const grant = await grantOf('asked');
    const first = await ask(pay, 'served');
    expect(first.body).toMatchObject({ outcome: 'authorized', grantId: grant });
    expect(isReplayed(await ask(pay, 'served'))).toBe(true);
    expect((await send(app, 'POST', `/api/v1/grants/${grant}/revoke`)).status).toBe(200);
    const next = await grantOf('asked-again');
    const again = await ask(pay, 'served');
    expect([again.status, again.body.error]).toEqual([409, expect.objectContaining(already(first.body.id))]);
    expect((await send(app, 'GET', `/api/v1/grants/${next}`)).body.used).toBe(0);
  });

  it('serves no other principal', async () => {
    const first = await ask(body('principals'), 'shared', forAnn);
    expect(first.body).toMatchObject({ outcome: 'authorized', onBehalfOf: { subject: 'user:ann' } });
    const other = await ask(body('principals'), 'shared', forBob);
    expect([other.status, other.body.error.reason, other.body.error.executionId]).toEqual([409, undefined, undefined]);
    expect(isReplayed(await ask(body('principals'), 'shared', forAnn))).toBe(true);
    expect((await ask(body('principals'), 'own', forBob)).status).toBe(200);
  });
});
