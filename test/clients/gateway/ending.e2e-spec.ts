import { type GatewayStage, openStage, route, type StartedGateway, startGateway, VENDOR_CREDENTIAL } from './stage';
import { sendJson, type StandIn, startStandIn } from './stand-in';

const CLIENTS = 10;
const MAX_CALL_MS = 100;
/** Calls that are answered before the gateway is told to end. */
const CALLS = 50;

describe('A gateway that ends', () => {
  let stage: GatewayStage;
  let upstream: StandIn;

  beforeAll(async () => {
    stage = await openStage();
    upstream = await startStandIn((_, response) => {
      // At any time, some of them run.
      setTimeout(() => sendJson(response, { done: true }), Math.random() * MAX_CALL_MS);
    });
  });
  afterAll(async () => {
    await upstream.close();
    await stage.close();
  });

  it('answers what it has taken, and takes no more from clients that go on on their connections', async () => {
    const vendor = { url: upstream.url, credentials: [VENDOR_CREDENTIAL], routes: [route('POST /:id', 'write')] };
    const gateway = await startGateway(stage, { vendor });
    let answers = 0;
    const exitCodes: Promise<number | null>[] = [];
    const callUntilItEnds = async (): Promise<void> => {
      while (await isAnswered(gateway)) {
        answers += 1;
        if (answers === CALLS) exitCodes.push(gateway.stop());
      }
    };
    await Promise.all(Array.from({ length: CLIENTS }, callUntilItEnds));
    expect(await Promise.all(exitCodes)).toEqual([0]);
    expect(answers).toBeLessThan(CALLS + 5 * CLIENTS);
    expect(await stage.executions('&outcome=authorized')).toEqual([]);
    expect(await stage.executions('&outcome=failed')).toEqual([]);
  });
});

/** False once the gateway takes no connection, or has ended an idle one. */
async function isAnswered(gateway: StartedGateway): Promise<boolean> {
  try {
    return (await gateway.call('/vendor/1', { json: {} })).status === 200;
  } catch {
    return false;
  }
}
