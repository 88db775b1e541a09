import { until } from '../../faults/support/watch';
import { stop } from '../../stops/support';
import { issueKey } from '../../support/application/factories';
import { send } from '../../support/application/send';
import {
  type GatewayStage,
  openStage,
  route,
  type StartedGateway,
  startGateway,
  startGatewayFile,
  VENDOR_CREDENTIAL,
} from './stage';
import { type StandIn, startStandIn } from './stand-in';

describe("The gateway's own key that has ended", () => {
  let stage: GatewayStage;
  let upstream: StandIn;
  let gateway: StartedGateway;

  beforeAll(async () => {
    stage = await openStage();
    upstream = await startStandIn(({ url }, response) => {
      if (url !== '/write/running') response.end('ok');
    });
  });
  afterAll(async () => {
    await upstream.close();
    await stage.close();
  });

  it('lets nothing more be sent, and the running calls end by a stop, which are reported with another key', async () => {
    const { id, secret } = await issueKey(stage.app, { name: 'short', scopes: ['report'] });
    const routes = [route('POST /write/:id', 'write')];
    const vendor = { url: upstream.url, credentials: [VENDOR_CREDENTIAL], routes, timeout: 'PT60S' };
    gateway = await startGateway({ ...stage, reportKey: secret }, { vendor });
    const running = gateway.call('/vendor/write/running', { json: {} });
    await until('it was sent', () => upstream.below('/write/running').length === 1);
    expect((await gateway.call('/-/health')).status).toBe(200);
    expect((await send(stage.app, 'POST', `/api/v1/api-keys/${id}/revoke`)).status).toBe(200);
    await until('it is not healthy', async () => (await gateway.call('/-/health')).status === 503);
    const refused = await gateway.call('/vendor/write/refused', { json: {} });
    expect([refused.status, refused.error?.message]).toEqual([503, expect.stringContaining("the gateway's own key")]);
    expect(upstream.below('/write/refused')).toEqual([]);
    await stop(stage.app, { agentId: stage.agentId, actions: ['write'] });
    const { error } = await running;
    expect(error?.reason).toBe('stopped');
    expect(await gateway.stop()).toBe(0);
    const restarted = await startGatewayFile(stage, gateway.file, gateway.journal);
    expect(await stage.ended(error?.executionId ?? '')).toMatchObject({ outcome: 'failed', reason: 'stopped' });
    expect(await restarted.stop()).toBe(0);
  });

  it('lets nothing be sent that was approved since', async () => {
    const { id, secret } = await issueKey(stage.app, { name: 'shorter', scopes: ['report'] });
    const routes = [route('POST /refund/:id', 'refund')];
    const vendor = { url: upstream.url, credentials: [VENDOR_CREDENTIAL], routes, hold: 'PT60S' };
    gateway = await startGateway({ ...stage, reportKey: secret }, { vendor }, { name: 'approved' });
    const held = gateway.call('/vendor/refund/held', { json: {} });
    const waiting = async (): Promise<string | null | undefined> =>
      (await stage.executions('&outcome=pending_approval'))[0]?.decisionId;
    await until('it waits', async () => typeof (await waiting()) === 'string');
    const decisionId = String(await waiting());
    expect((await send(stage.app, 'POST', `/api/v1/api-keys/${id}/revoke`)).status).toBe(200);
    await until('it is not healthy', async () => (await gateway.call('/-/health')).status === 503);
    await stage.approve(decisionId);
    const { status, error } = await held;
    expect([status, error?.message]).toEqual([503, expect.stringContaining("the gateway's own key")]);
    expect(upstream.below('/refund')).toEqual([]);
    expect(await gateway.stop()).toBe(0);
    const restarted = await startGatewayFile(stage, gateway.file, gateway.journal);
    const [execution] = await stage.executions('&resourceId=refund/held');
    expect(await stage.ended(String(execution?.id))).toMatchObject({ outcome: 'failed', reason: 'not_sent' });
    expect(await restarted.stop()).toBe(0);
  });
});
