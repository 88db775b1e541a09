import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseTokenIssuers } from '../../src/governance/tokens/token-issuer';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { createAgent, createPolicy } from '../support/application/factories';
import { type Answer, send } from '../support/application/send';
import { signedTokens } from '../support/application/signed-tokens';

const ISSUER = 'https://login.example.org';
const [SHOP, BANK] = ['https://gateway.example.com/shop/mcp', 'https://gateway.example.com/bank/mcp'];
const ORDER = { action: 'order', resourceType: 'item', resourceId: 'items/1' };

describe('A token that was issued for a gateway', () => {
  let app: TestApp;
  let folder: string;
  /** Tokens, named after their audiences. */
  let forShop: string;
  let forBoth: string;
  let forAll: string;
  let forOther: string;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'gateway-tokens-'));
    const claims = { iss: ISSUER, sub: 'bot' };
    const { keys, tokens } = await signedTokens(
      { ...claims, aud: SHOP },
      { ...claims, aud: [SHOP, BANK] },
      { ...claims, aud: [SHOP, 'governance'] },
      { ...claims, aud: 'https://gateway.example.com/other/mcp' },
    );
    [forShop = '', forBoth = '', forAll = '', forOther = ''] = tokens.map(({ EdDSA = '' }) => EdDSA);
    const issuer = {
      ...{ issuer: ISSUER, audience: 'governance', gatewayAudiences: [SHOP, BANK], jwks: 'keys.json', agents: ['bot'] },
      scopes: ['read', 'execute', 'audit'],
    };
    writeFileSync(join(folder, 'keys.json'), JSON.stringify({ keys }));
    writeFileSync(join(folder, 'issuers.json'), JSON.stringify([issuer]));
    app = await createTestApp({
      environment: { RATE_LIMIT: '1000000', TOKEN_ISSUERS: join(folder, 'issuers.json') },
    });
    await createAgent(app, { name: 'bot', capabilities: ['order', 'buy'] });
    await createAgent(app, { name: 'boss', kind: 'human' });
    await createPolicy(app, { actions: ['order'] });
    await createPolicy(app, {
      ...{ actions: ['buy'], effect: 'require_approval' },
      approval: { approvers: [{ subjects: ['agent:boss'] }] },
    });
  });
  afterAll(async () => {
    await app.close();
    rmSync(folder, { recursive: true });
  });

  function ask(token: string, audience: string | null, method: string, path: string, body?: object): Promise<Answer> {
    const headers = {
      Authorization: `Bearer ${token}`,
      ...(audience !== null && { 'Governance-Audience': audience }),
    };
    return send(app, method, `/api/v1/${path}`, { key: null, headers, ...(body !== undefined && { body }) });
  }
  const execute = (token: string, audience: string | null, body: object): Promise<Answer> =>
    ask(token, audience, 'POST', 'agents/bot/execute', body);

  it('asks, waits, resumes, cancels and evaluates with its address and the upstream of that address', async () => {
    expect((await execute(forShop, SHOP, { ...ORDER, via: 'shop' })).body).toMatchObject({ via: 'shop' });
    expect((await execute(forBoth, BANK, { ...ORDER, via: 'bank' })).body).toMatchObject({ via: 'bank' });
    const { body } = await execute(forShop, SHOP, { ...ORDER, action: 'buy', via: 'shop' });
    await send(app, 'POST', `/api/v1/decisions/${body.decisionId}/approve`, { body: { approverId: 'boss' } });
    const waited = await ask(forShop, SHOP, 'GET', `executions/${body.id}?wait=5`);
    expect(waited.body.outcome).toBe('approved');
    expect((await ask(forShop, SHOP, 'POST', `executions/${body.id}/resume`, {})).status).toBe(401);
    const resumed = await ask(forShop, SHOP, 'POST', `executions/${body.id}/resume`, { via: 'shop' });
    expect(resumed.body.outcome).toBe('authorized');
    const other = await execute(forShop, SHOP, { ...ORDER, action: 'buy', resourceId: 'items/2', via: 'shop' });
    expect((await ask(forShop, SHOP, 'POST', `executions/${other.body.id}/cancel`, {})).body.outcome).toBe('cancelled');
    const question = { agent: 'bot', ...ORDER };
    expect((await ask(forShop, SHOP, 'POST', 'policies/evaluate', question)).body.effect).toBe('allow');
    expect((await ask(forShop, SHOP, 'GET', 'me')).body.scopes).toEqual(['execute']);
    // A gateway reads it where the rate limit of the caller is used up; 401 would say that the caller has ended.
    expect((await ask(forShop, SHOP, 'GET', 'stops?status=active')).status).toBe(200);
  });

  it.each([
    ['without an address', null, 'shop'],
    ['with another address', BANK, 'shop'],
    ['with the address of another of its audiences', BANK, 'bank'],
    ['with two addresses', `${SHOP}, ${SHOP}`, 'shop'],
    ['for another upstream', SHOP, 'bank'],
    ['for no upstream', SHOP, undefined],
    ['for the end of an upstream', SHOP, 'hop'],
  ])('is 401 %s', async (_what, audience, via) => {
    const { status, headers } = await execute(forShop, audience, { ...ORDER, via });
    expect([status, headers.get('www-authenticate')]).toEqual([401, expect.stringContaining('Bearer')]);
  });

  it.each([
    ['GET', 'executions'],
    ['GET', 'agents'],
    ['GET', 'audit'],
    ['GET', 'events'],
    ['POST', 'stops'],
    ['POST', 'executions/exe_1/result'],
    ['POST', 'executions/cancel'],
  ])('is 401 at %s %s', async (method, path) => {
    expect((await ask(forShop, SHOP, method, path)).status).toBe(401);
  });

  it('is an ordinary one where its audience is the service, too', async () => {
    expect((await execute(forAll, null, ORDER)).body.via).toBeNull();
    expect((await execute(forAll, 'anything', { ...ORDER, via: 'bank' })).body.via).toBe('bank');
    expect((await ask(forAll, SHOP, 'GET', 'me')).body.scopes).toEqual(['read', 'execute', 'audit']);
  });

  it('is unknown where its address is not listed', async () => {
    const other = 'https://gateway.example.com/other/mcp';
    expect((await execute(forOther, other, { ...ORDER, via: 'other' })).status).toBe(401);
  });

  it.each([
    [['https://gateway.example.com/shop'], '[0].gatewayAudiences[0]'],
    [['http://gateway.example.com/shop/mcp'], '[0].gatewayAudiences[0]'],
    [['https://gateway.example.com/shop/mcp?a=b'], '[0].gatewayAudiences[0]'],
    [['https://gateway.example.com/Shop/mcp'], '[0].gatewayAudiences[0]'],
    [[], '[0].gatewayAudiences'],
    [SHOP, '[0].gatewayAudiences'],
  ])('is not configured by the gatewayAudiences %j', (gatewayAudiences, at) => {
    const issuer = { issuer: ISSUER, audience: 'governance', jwks: 'keys.json', agents: ['bot'], scopes: ['execute'] };
    const result = parseTokenIssuers(JSON.stringify([{ ...issuer, gatewayAudiences }]));
    expect(result).toEqual({ fault: expect.stringMatching(`^${at.replace(/[[\]]/g, '\\$&')} must `) });
    const same = parseTokenIssuers(JSON.stringify([{ ...issuer, audience: SHOP, gatewayAudiences: [SHOP] }]));
    expect(same).toEqual({ fault: '[0].gatewayAudiences must not have the audience of the service' });
  });

  it('counts as one caller with other tokens of its subject', async () => {
    const { actor } = (await ask(forShop, SHOP, 'GET', 'me')).body;
    expect((await ask(forAll, null, 'GET', 'me')).body.actor).toEqual(actor);
  });
});
