import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { approve } from '../../approvals/support';
import { lift, stop } from '../../stops/support';
import { valueOf } from '../../support/application/metric';
import { issueKey } from '../../support/application/factories';
import { send } from '../../support/application/send';
import { signedTokens } from '../../support/application/signed-tokens';
import { describeOnSqlite } from '../../support/database/database-kind';
import { openDoor } from '../gateway/service-door';
import { connectThroughProxy, textOf } from './mcp-clients';
import { openShop, type Shop, WAYS } from './shop';

describeOnSqlite('A stop, while gov mcp carries calls', () => {
  let shop: Shop;

  beforeAll(async () => {
    shop = await openShop();
  });
  afterAll(() => shop.close());

  it.each(WAYS)('cancels what it covers, and nothing else (%s, %s protocol)', async (way, era) => {
    const customer = await shop.customer(`stopped-${way}`);
    const { environment, runs } = customer;
    const { client, close } = await connectThroughProxy({ way, era, runs, environment });
    const running = client.callTool({ name: 'slow' });
    const { agentId } = await customer.executionThatIs('slow', 'authorized');
    const other = await stop(shop.app, { actions: ['echo'] });
    expect(textOf(await client.callTool({ name: 'echo' }))).toContain('stopped');
    const covering = await stop(shop.app, { agentId, actions: ['sl*'] });
    const cancelled = await running;
    expect(cancelled.isError).toBe(true);
    expect(textOf(cancelled)).toContain('Somebody stopped the agent while it ran');
    const { failureReason } = await customer.executionThatIs('slow', 'failed');
    expect(failureReason).toContain('Somebody stopped the agent');
    for (const active of [other, covering]) await lift(shop.app, active);
    expect(textOf(await client.callTool({ name: 'echo', arguments: { n: 1 } }))).toBe('{"n":1}');
    await close();
  });

  it('ends a call that waits for its approval, which stays', async () => {
    const customer = await shop.customer('stopped waiting');
    const { environment, runs } = customer;
    const words = ['--hold', '60'];
    const { client, close } = await connectThroughProxy({ way: 'stdio', era: 'legacy', runs, environment, words });
    const waiting = client.callTool({ name: 'refund' });
    const { agentId } = await customer.executionThatIs('refund', 'pending_approval');
    const covering = await stop(shop.app, { agentId });
    const ended = await waiting;
    expect(ended.isError).toBe(true);
    expect(textOf(ended)).toContain('Somebody stopped the agent while the call waited for its approval');
    const { decisionId } = await customer.executionThatIs('refund', 'pending_approval');
    await lift(shop.app, covering);
    await approve(shop.app, decisionId, shop.people.ann);
    expect((await client.callTool({ name: 'refund' })).isError).not.toBe(true);
    expect(customer.ran('refund')).toHaveLength(1);
    await close();
  });

  it.each([['execute'], ['execute read']])('cancels what a suspended agent still runs (key: %s)', async (scopes) => {
    const customer = await shop.customer(`suspended ${scopes}`);
    const { environment, runs } = customer;
    const { secret } = await issueKey(shop.app, { name: scopes, scopes: scopes.split(' ') });
    const { client, close } = await connectThroughProxy({
      ...{ way: 'stdio', era: 'legacy', runs },
      environment: { ...environment, GOVERNANCE_API_KEY: secret },
      words: ['--agent', `suspended ${scopes}`],
    });
    const running = client.callTool({ name: 'slow' });
    const { agentId } = await customer.executionThatIs('slow', 'authorized');
    await send(shop.app, 'POST', `/api/v1/agents/${agentId}/suspend`);
    const others = await stop(shop.app, { actions: ['echo'] });
    const covering = await stop(shop.app, { agentId, actions: ['sl*'] });
    expect(textOf(await running)).toContain('Somebody stopped the agent while it ran');
    for (const active of [others, covering]) await lift(shop.app, active);
    await close();
  });

  it('is as if made where the agent of the key is suspended, as that key learns of none', async () => {
    const customer = await shop.customer('suspended itself');
    const { environment, runs } = customer;
    const { client, close } = await connectThroughProxy({ way: 'stdio', era: 'legacy', runs, environment });
    const running = client.callTool({ name: 'slow' });
    const { agentId } = await customer.executionThatIs('slow', 'authorized');
    await send(shop.app, 'POST', `/api/v1/agents/${agentId}/suspend`);
    expect(textOf(await running)).toContain('Somebody stopped the agent while it ran');
    await send(shop.app, 'POST', `/api/v1/agents/${agentId}/resume`);
    expect(textOf(await client.callTool({ name: 'echo', arguments: { n: 1 } }))).toBe('{"n":1}');
    await close();
  });

  it('is as if made where the key has ended, which learns of none', async () => {
    const customer = await shop.customer('with a key that ends');
    const { environment, runs } = customer;
    const { id, secret } = await issueKey(shop.app, { name: 'ends', scopes: ['execute'] });
    const { client, close } = await connectThroughProxy({
      ...{ way: 'stdio', era: 'legacy', runs },
      environment: { ...environment, GOVERNANCE_API_KEY: secret },
      words: ['--agent', 'with a key that ends'],
    });
    const running = client.callTool({ name: 'slow' });
    await customer.executionThatIs('slow', 'authorized');
    await send(shop.app, 'POST', `/api/v1/api-keys/${id}/revoke`);
    expect(textOf(await running)).toContain('The key or token of the agent ended while it ran');
    await close();
  });

  it('cancels what the agent of a token runs', async () => {
    const trusted = mkdtempSync(join(tmpdir(), 'stopped-tokens-'));
    const issuer = 'https://login.example.org';
    const { keys, tokens } = await signedTokens({ iss: issuer, sub: 'by token', aud: 'governance' });
    const entry = { issuer, audience: 'governance', jwks: 'keys.json', agents: ['by token'], scopes: ['execute'] };
    writeFileSync(join(trusted, 'keys.json'), JSON.stringify({ keys }));
    writeFileSync(join(trusted, 'issuers.json'), JSON.stringify([entry]));
    const tokenShop = await openShop({ TOKEN_ISSUERS: join(trusted, 'issuers.json') });
    const customer = await tokenShop.customer('by token');
    const environment = { ...customer.environment, GOVERNANCE_API_KEY: tokens[0]?.['EdDSA'] };
    const { runs } = customer;
    const { client, close } = await connectThroughProxy({ way: 'stdio', era: 'legacy', runs, environment });
    const running = client.callTool({ name: 'slow' });
    const { agentId } = await customer.executionThatIs('slow', 'authorized');
    await stop(tokenShop.app, { agentId, actions: ['sl*'] });
    expect(textOf(await running)).toContain('Somebody stopped the agent while it ran');
    await close();
    await tokenShop.close();
    rmSync(trusted, { recursive: true });
  });

  it('cancels what an agent runs that is at its rate limit', async () => {
    const customer = await shop.customer('limited');
    const door = await openDoor(shop.app.url);
    const environment = { ...customer.environment, GOVERNANCE_URL: door.url };
    const { runs } = customer;
    const { client, close } = await connectThroughProxy({ way: 'stdio', era: 'legacy', runs, environment });
    const running = client.callTool({ name: 'slow' });
    const { agentId } = await customer.executionThatIs('slow', 'authorized');
    door.faultFor = (path) => (path.startsWith('/api/v1/policies/evaluate') ? 429 : null);
    const others = await stop(shop.app, { agentId, actions: ['echo'] });
    const covering = await stop(shop.app, { agentId, actions: ['sl*'] });
    expect(textOf(await running)).toContain('Somebody stopped the agent while it ran');
    for (const active of [others, covering]) await lift(shop.app, active);
    await close();
    await door.close();
  });

  it('comes before a call whose authorisation is on its way: nothing is sent, and the record says so', async () => {
    const customer = await shop.customer('on its way');
    const door = await openDoor(shop.app.url);
    const environment = { ...customer.environment, GOVERNANCE_URL: door.url };
    const { runs } = customer;
    const { client, close } = await connectThroughProxy({ way: 'stdio', era: 'legacy', runs, environment });
    const running = client.callTool({ name: 'slow' });
    const { agentId } = await customer.executionThatIs('slow', 'authorized');
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    door.answerTurnOf = (path) => (path.endsWith('/execute') ? released : Promise.resolve());
    const held = client.callTool({ name: 'echo' });
    await customer.executionThatIs('echo', 'authorized');
    const covering = await stop(shop.app, { agentId });
    expect(textOf(await running)).toContain('Somebody stopped the agent while it ran');
    release();
    expect(textOf(await held)).toContain('Somebody stopped the agent before it was sent');
    expect(customer.ran('echo')).toEqual([]);
    expect((await customer.executionThatIs('echo', 'failed')).failureReason).toContain('before it was sent');
    await lift(shop.app, covering);
    await close();
    await door.close();
  });

  it('are asked for now and then where the service holds no wait', async () => {
    const crowded = await openShop({ MAX_WAITING: '0' });
    const customer = await crowded.customer('crowded');
    const { environment, runs } = customer;
    const { client, close } = await connectThroughProxy({ way: 'stdio', era: 'legacy', runs, environment });
    const running = client.callTool({ name: 'slow' });
    const { agentId } = await customer.executionThatIs('slow', 'authorized');
    await sleep(2_000);
    const { text } = await send(crowded.app, 'GET', '/metrics');
    expect(valueOf(text, 'http_request_duration_seconds_count{method="GET",route="/api/v1/stops",status="304"}')).toBe(
      1,
    );
    await stop(crowded.app, { agentId });
    expect(textOf(await running)).toContain('Somebody stopped the agent while it ran');
    await close();
    await crowded.close();
  });
});
