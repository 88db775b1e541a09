import { createServer, type Server } from 'node:http';
import { createPolicy } from '../../support/application/factories';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { connectClient, type McpUpstreamProcess, startMcpUpstream } from './mcp-stage';
import {
  bearer,
  type GatewayAnswer,
  type GatewayStage,
  openStage,
  route,
  type StartedGateway,
  startGateway,
  VENDOR_CREDENTIAL,
} from './stage';

const SEALED = { $secret: expect.stringMatching(/^[\w-]{22}$/) };

describe('Secrets in requests through the gateway', () => {
  let stage: GatewayStage;
  let vendor: Server;
  let shop: McpUpstreamProcess;
  let gateway: StartedGateway;
  const bodies: string[] = [];

  beforeAll(async () => {
    stage = await openStage();
    vendor = createServer((request, response) => {
      let text = '';
      request.on('data', (chunk) => (text += String(chunk)));
      request.on('end', () => {
        bodies.push(text);
        response.end('{}');
      });
    }).listen(0, '127.0.0.1');
    await once(vendor, 'listening');
    shop = await startMcpUpstream();
    const upstream = { credentials: [VENDOR_CREDENTIAL], secret: ['/body/card/*'] };
    const url = `http://127.0.0.1:${(vendor.address() as AddressInfo).port}`;
    const routes = [
      route('POST /refunds', 'refund', { secret: ['/body/pin'] }),
      route('POST /forms', 'write', { secret: ['/body/user/pin', '/query/filter/pin'] }),
      route('POST /checks', 'check'),
    ];
    gateway = await startGateway(stage, {
      vendor: { url, ...upstream, routes },
      shop: { mcp: shop.url, credentials: [VENDOR_CREDENTIAL], secret: ['/pin'] },
    });
  });

  afterAll(async () => {
    expect(await gateway.stop()).toBe(0);
    await shop.stop();
    vendor.close();
    await stage.close();
  });

  it('are not kept, an approval finds them, and they reach the upstream', async () => {
    const json = { amount: 5, pin: '1234', card: { number: 4111 }, password: 'of-gateway', note: 'n'.repeat(70_000) };
    const refused = await gateway.call('/vendor/refunds', { method: 'POST', json });
    expect([refused.status, refused.error?.reason]).toEqual([403, 'approval_required']);
    const execution = await stage.execution(String(refused.error?.executionId));
    expect(execution.parameters).toMatchObject({
      body: {
        ...{ amount: 5, pin: SEALED, card: { number: SEALED }, password: SEALED },
        note: { $hmac: expect.stringMatching(/^[0-9a-f]{32}$/), bytes: 70_000 },
      },
    });
    await stage.approve(String(refused.error?.decisionId));
    expect((await gateway.call('/vendor/refunds', { method: 'POST', json: { ...json, pin: '4321' } })).status).toBe(
      403,
    );
    expect((await gateway.call('/vendor/refunds', { method: 'POST', json })).status).toBe(200);
    expect(bodies.splice(0)).toEqual([JSON.stringify(json)]);
  });

  it('are not kept where a form or a query nests them, and reach the upstream', async () => {
    const form = 'user[password]=a1&user[pin]=b2&user[name]=ann&token[]=c3&card[number]=d4&api.key=e5&x.jwt=f6';
    const path = '/vendor/forms?auth[token]=g7&filter[pin]=h8&filter[kind]=new';
    expect((await gateway.call(path, { form })).status).toBe(200);
    const [execution] = await stage.executions('&resourceId=forms');
    expect(execution?.parameters).toMatchObject({
      query: { 'auth[token]': SEALED, 'filter[pin]': SEALED, 'filter[kind]': 'new' },
      body: {
        ...{ 'user[password]': SEALED, 'user[pin]': SEALED, 'user[name]': 'ann', 'token[]': SEALED },
        ...{ 'card[number]': SEALED, 'api.key': SEALED, 'x.jwt': SEALED },
      },
    });
    expect(bodies.splice(0)).toEqual([form]);
  });

  it('are not kept as the names of a form that is JSON: 400, and nothing is sent', async () => {
    const form = JSON.stringify({ password: 'i9=' });
    const { status, error } = await gateway.call('/vendor/forms', { form });
    expect([status, error?.reason]).toEqual([400, 'body_ambiguous']);
    expect(error?.message).not.toContain('i9');
    expect(bodies).toEqual([]);
  });

  it('and bodies that are hashed evade no deny on their members', async () => {
    const conditions = [{ parameter: '/body/admin', op: 'exists', value: true }];
    await createPolicy(stage.app, { effect: 'deny', actions: ['check'], priority: 9, conditions });
    await createPolicy(stage.app, { actions: ['check'] });
    const check = (json: object, headers = {}): Promise<GatewayAnswer> =>
      gateway.call('/vendor/checks', { method: 'POST', json, headers });
    const padding = Array.from({ length: 10_000 }, () => 0);
    expect([
      await check({ admin: true }),
      await check({ admin: true, padding }),
      await check({ admin: true }, { 'Content-Type': 'text/plain' }),
    ]).toEqual(Array.from({ length: 3 }, () => expect.objectContaining({ status: 403 })));
    expect(await check({ padding: padding.slice(200) })).toMatchObject({ status: 200 });
  });

  it('of an MCP upstream are not kept, and reach the server', async () => {
    const { client } = await connectClient(`${gateway.url}/shop/mcp`, bearer(stage.key));
    const input = { pin: 'pin-of-shop', token: 'token-of-shop', amount: 3 };
    await client.callTool({ name: 'write', arguments: input });
    await client.close();
    expect(shop.ran()).toEqual([`write ${JSON.stringify(input)}`]);
    const [execution] = await stage.executions('&action=write&resourceType=tool');
    expect(execution?.parameters).toEqual({ pin: SEALED, token: SEALED, amount: 3 });
  });
});
