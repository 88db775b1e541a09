import { until } from '../../faults/support/watch';
import { openDoor, type ServiceDoor } from './service-door';
import { type GatewayStage, openStage, route, type StartedGateway, startGateway, VENDOR_CREDENTIAL } from './stage';
import { sendJson, type StandIn, startStandIn } from './stand-in';

describe('An execution that the service authorises again', () => {
  let stage: GatewayStage;
  let upstream: StandIn;
  let door: ServiceDoor;

  beforeAll(async () => {
    stage = await openStage();
    upstream = await startStandIn((request, response) => {
      if (!request.url.startsWith('/never/')) sendJson(response, { done: true });
    });
    door = await openDoor(stage.app.url);
  });
  afterEach(() => {
    door.faultFor = () => null;
  });
  afterAll(async () => {
    await upstream.close();
    await door.close();
    await stage.close();
  });

  function start(name: string): Promise<StartedGateway> {
    const vendor = { url: upstream.url, credentials: [VENDOR_CREDENTIAL], routes: [route('POST /:kind/:id', 'write')] };
    return startGateway(stage, { vendor }, { name, file: { service: door.url } });
  }

  /** Lets the service authorise an execution as it did before, as one of an older database does. */
  async function authoriseAgain(resourceId: string): Promise<string> {
    const [execution] = await stage.executions(`&resourceId=${resourceId}`);
    const json = JSON.stringify({ ...execution, outcome: 'authorized', reason: null, endedAt: null });
    door.faultFor = (path) => (path.endsWith('/execute') ? { json, status: 201 } : null);
    return String(execution?.id);
  }

  it('is not sent again after its end', async () => {
    const gateway = await start('ended');
    expect((await gateway.call('/vendor/done/1', { json: {} })).status).toBe(200);
    const executionId = await authoriseAgain('done/1');
    expect((await stage.ended(executionId)).outcome).toBe('executed');
    const { status, error } = await gateway.call('/vendor/done/1', { json: {} });
    expect([status, error?.reason, error?.executionId]).toEqual([422, 'already_sent', executionId]);
    expect(upstream.below('/done/1')).toHaveLength(1);
    expect(await gateway.stop()).toBe(0);
  });

  it('is not sent again while it runs, nor while its report waits over a kill', async () => {
    const killed = await start('running');
    const call = killed.call('/vendor/never/1', { json: {} });
    call.catch(() => undefined);
    await until('it was sent', () => upstream.below('/never/1').length === 1);
    await authoriseAgain('never/1');
    expect((await killed.call('/vendor/never/1', { json: {} })).error?.reason).toBe('already_sent');
    await killed.stop('SIGKILL');
    const next = await start('running');
    expect((await next.call('/vendor/never/1', { json: {} })).error?.reason).toBe('already_sent');
    expect(upstream.below('/never/1')).toHaveLength(1);
    expect(await next.stop()).toBe(0);
  });
});
