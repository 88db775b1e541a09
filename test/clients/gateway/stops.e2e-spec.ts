import { until } from '../../faults/support/watch';
import { lift, stop } from '../../stops/support';
import { createAgent, issueKey } from '../../support/application/factories';
import { send } from '../../support/application/send';
import {
  bearer,
  callGateway,
  type GatewayAnswer,
  type GatewayStage,
  openStage,
  route,
  type StartedGateway,
  startGateway,
  VENDOR_CREDENTIAL,
} from './stage';
import { RawUpstream } from './raw-upstream';
import { sendJson, type StandIn, startStandIn } from './stand-in';

/** An agent of its own, whose call runs. */
interface Runner {
  readonly agentId: string;
  readonly keyId: string;
  readonly name: string;
  /** Once its request has arrived at the upstream. */
  readonly call: Promise<GatewayAnswer>;
}

describe('Calls that are stopped while they run', () => {
  let stage: GatewayStage;
  let upstream: StandIn;
  let silent: RawUpstream;
  let gateway: StartedGateway;

  beforeAll(async () => {
    stage = await openStage();
    upstream = await startStandIn((request, response) => {
      if (request.url.startsWith('/done/')) sendJson(response, { done: true });
      if (!request.url.startsWith('/begun/')) return;
      response.writeHead(200, { 'Content-Type': 'text/plain' });
      response.write('the first part');
    });
    const routes = [
      route('POST /:kind/:id', 'write', { timeout: 'PT60S' }),
      route('PUT /:kind/:id', 'refund', { hold: 'PT60S' }),
    ];
    silent = await RawUpstream.open();
    gateway = await startGateway(stage, {
      vendor: { url: upstream.url, credentials: [VENDOR_CREDENTIAL], routes },
      // The handshake of TLS never ends.
      silent: { url: `https://localhost:${silent.port}`, credentials: [VENDOR_CREDENTIAL], routes },
    });
  });
  afterAll(async () => {
    expect(await gateway.stop()).toBe(0);
    await upstream.close();
    await silent.close();
    await stage.close();
  });

  async function run(kind: string, name: string): Promise<Runner> {
    const { id: agentId } = await createAgent(stage.app, { name, capabilities: ['*'], roles: [`${name}-role`] });
    const { secret, id: keyId } = await issueKey(stage.app, { name, scopes: ['execute'], agentId });
    const call = callGateway(gateway.url, `/vendor/${kind}/${name}`, { json: {}, headers: bearer(secret) });
    call.catch(() => undefined);
    await until('it was sent', () => upstream.below(`/${kind}/${name}`).length === 1);
    return { agentId, keyId, name, call };
  }

  async function outcomeOf({ name }: Runner, kind: string): Promise<object> {
    const [execution] = await stage.executions(`&resourceId=${kind}/${name}`);
    const { outcome, reason } = await stage.ended(String(execution?.id));
    return { outcome, reason };
  }

  const STOPS: readonly (readonly [string, (runner: Runner) => readonly [string, object]])[] = [
    ['a stop of its agent', ({ agentId }) => ['stops', { agentId, reason: 'a test' }]],
    ['a stop of its role', ({ name }) => ['stops', { role: `${name}-role`, reason: 'a test' }]],
    ['its suspended agent', ({ agentId }) => [`agents/${agentId}/suspend`, { reason: 'a test' }]],
    ['its revoked key', ({ keyId }) => [`api-keys/${keyId}/revoke`, { reason: 'a test' }]],
  ];

  it.each(STOPS)('are answered with 403 by %s', async (what, request) => {
    const runner = await run('never', what.replaceAll(' ', '-'));
    const [path, body] = request(runner);
    const { status } = await send(stage.app, 'POST', `/api/v1/${path}`, { body });
    expect(status).toBeLessThan(300);
    const { status: responseStatus, error } = await runner.call;
    expect([responseStatus, error?.reason]).toEqual([403, 'stopped']);
    expect(await outcomeOf(runner, 'never')).toEqual({ outcome: 'failed', reason: 'stopped' });
  });

  it('are reset where the answer has begun', async () => {
    const runner = await run('begun', 'reset');
    await send(stage.app, 'POST', '/api/v1/stops', { body: { agentId: runner.agentId, reason: 'a test' } });
    await expect(runner.call).rejects.toThrow();
    expect(await outcomeOf(runner, 'begun')).toEqual({ outcome: 'failed', reason: 'stopped' });
  });

  it('are reported as not sent where the connection was not open yet', async () => {
    const { id: agentId } = await createAgent(stage.app, { name: 'connecting', capabilities: ['*'] });
    const { secret } = await issueKey(stage.app, { name: 'connecting', scopes: ['execute'], agentId });
    const path = '/silent/never/connecting';
    const call = callGateway(gateway.url, path, { json: {}, headers: bearer(secret) });
    await until('it connects', () => silent.connections.size > 0);
    await send(stage.app, 'POST', '/api/v1/stops', { body: { agentId, reason: 'a test' } });
    const { status, error } = await call;
    expect([status, error?.reason]).toEqual([403, 'stopped']);
    expect(error?.message).toContain('nothing was sent');
    expect(await stage.ended(String(error?.executionId))).toMatchObject({ outcome: 'failed', reason: 'not_sent' });
  });

  it('go on if the stop covers other agents or actions', async () => {
    const runner = await run('never', 'goes-on');
    const { agentId } = runner;
    for (const body of [
      { role: 'nobody-has-it', reason: 'a test' },
      { agentId, actions: ['delete'], reason: 'a test' },
    ])
      expect((await send(stage.app, 'POST', '/api/v1/stops', { body })).status).toBe(201);
    // Another call is stopped by a later event, so the earlier ones were looked at.
    const other = await run('never', 'is-stopped');
    await send(stage.app, 'POST', '/api/v1/stops', { body: { agentId: other.agentId, reason: 'a test' } });
    expect((await other.call).error?.reason).toBe('stopped');
    const [execution] = await stage.executions('&resourceId=never/goes-on');
    expect(execution?.outcome).toBe('authorized');
    await send(stage.app, 'POST', '/api/v1/stops', { body: { agentId, reason: 'a test' } });
    expect((await runner.call).error?.reason).toBe('stopped');
  });

  it('end while they wait for an approval, which the same request continues once the stop is lifted', async () => {
    const { id: agentId } = await createAgent(stage.app, { name: 'waiting', capabilities: ['*'] });
    const { secret } = await issueKey(stage.app, { name: 'waiting', scopes: ['execute'], agentId });
    const call = (): Promise<GatewayAnswer> =>
      callGateway(gateway.url, '/vendor/done/waiting', { method: 'PUT', json: {}, headers: bearer(secret) });
    const waiting = call();
    const isPending = async (): Promise<boolean> => (await stage.executions(`&agentId=${agentId}`)).length === 1;
    await until('it waits', isPending);
    const active = await stop(stage.app, { agentId });
    const { status, error } = await waiting;
    const [execution] = await stage.executions(`&agentId=${agentId}`);
    expect([status, error?.reason, error?.executionId]).toEqual([403, 'stopped', execution?.id]);
    expect(error?.message).toContain('nothing was sent');
    expect(execution?.outcome).toBe('pending_approval');
    await stage.approve(String(execution?.decisionId));
    expect((await call()).error?.reason).toBe('stopped');
    await lift(stage.app, active);
    expect((await call()).status).toBe(200);
    expect(upstream.below('/done/waiting')).toHaveLength(1);
  });
});
