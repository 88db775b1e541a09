import { until } from '../../faults/support/watch';
import { lift, stop } from '../../stops/support';
import { openDoor, type ServiceDoor } from './service-door';
import {
  type GatewayAnswer,
  type GatewayStage,
  openStage,
  route,
  type StartedGateway,
  startGateway,
  VENDOR_CREDENTIAL,
} from './stage';
import { type StandIn, startStandIn } from './stand-in';

const EVALUATE = '/api/v1/policies/evaluate';
const STOPS = '/api/v1/stops';

describe('A stop of calls of which the service tells nothing', () => {
  let stage: GatewayStage;
  let upstream: StandIn;
  let door: ServiceDoor;
  let gateway: StartedGateway;

  beforeAll(async () => {
    stage = await openStage();
    upstream = await startStandIn(() => undefined);
    door = await openDoor(stage.app.url);
    const routes = [route('POST /write/:id', 'write'), route('POST /read/:id', 'read')];
    const members = { credentials: [VENDOR_CREDENTIAL], timeout: 'PT60S', routes };
    gateway = await startGateway(stage, { vendor: { url: upstream.url, ...members } }, { file: { service: door.url } });
  });
  afterAll(async () => {
    expect(await gateway.stop()).toBe(0);
    await upstream.close();
    await door.close();
    await stage.close();
  });

  /** Returns, in a list, the call whose request has arrived at the upstream. */
  async function run(path: string): Promise<Promise<GatewayAnswer>[]> {
    const call = gateway.call(`/vendor${path}`, { json: {} });
    call.catch(() => undefined);
    await until('it was sent', () => upstream.below(path).length === 1);
    return [call];
  }

  const active: Awaited<ReturnType<typeof stop>>[] = [];
  const stopActions = async (actions: readonly string[]): Promise<void> =>
    void active.push(await stop(stage.app, { agentId: stage.agentId, actions }));

  afterEach(async () => {
    door.faultFor = () => null;
    for (const made of active.splice(0)) await lift(stage.app, made);
  });

  it('ends those that it covers, and no others, where the agent is at its rate limit', async () => {
    const [covered] = await run('/write/limited');
    const [other] = await run('/read/limited');
    door.faultFor = (path) => (path.startsWith(EVALUATE) ? 429 : null);
    await stopActions(['wr*']);
    expect((await covered)?.error?.reason).toBe('stopped');
    const [execution] = await stage.executions('&resourceId=read/limited');
    expect(execution?.outcome).toBe('authorized');
    await stopActions(['read']);
    expect((await other)?.error?.reason).toBe('stopped');
  });

  it('ends them after a while where nothing is answered', async () => {
    const [call] = await run('/write/unknown');
    door.faultFor = (path) => (path.startsWith(EVALUATE) ? 429 : path.startsWith(STOPS) ? 'reset' : null);
    await stopActions(['read']);
    expect((await call)?.error?.reason).toBe('stopped');
  });
});
