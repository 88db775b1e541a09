import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '../../faults/support/watch';
import { type GatewayStage, openStage, route, type StartedGateway, startGateway, VENDOR_CREDENTIAL } from './stage';
import { sendJson, type StandIn, startStandIn } from './stand-in';

/** Sets the clock of a process back by an hour as soon as it gets a signal. */
const CLOCK = `
const now = Date.now;
let change = 0;
Date.now = () => now() + change;
process.on('SIGUSR2', () => (change = -3_600_000));
`;

describe('A clock that is set back', () => {
  let stage: GatewayStage;
  let upstream: StandIn;
  let gateway: StartedGateway;

  beforeAll(async () => {
    stage = await openStage();
    upstream = await startStandIn((_, response) => sendJson(response, { done: true }));
    const preload = join(stage.folder, 'clock.cjs');
    writeFileSync(preload, CLOCK);
    const routes = [route('POST /refund/:id', 'refund', { hold: 'PT2S' })];
    const upstreams = { vendor: { url: upstream.url, credentials: [VENDOR_CREDENTIAL], routes } };
    gateway = await startGateway(stage, upstreams, { environment: { NODE_OPTIONS: `--require ${preload}` } });
  });
  afterAll(async () => {
    expect(await gateway.stop()).toBe(0);
    await upstream.close();
    await stage.close();
  });

  it('holds no request for longer than its route says', async () => {
    const call = gateway.call('/vendor/refund/1', { json: {}, signal: AbortSignal.timeout(15_000) });
    await until('it waits', async () => (await stage.executions('&outcome=pending_approval')).length === 1);
    gateway.process.kill('SIGUSR2');
    expect((await call).error).toMatchObject({ reason: 'approval_required' });
  });
});
