import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../../bench/support/free-port';
import { until } from '../../faults/support/watch';
import { MAIN } from '../command-line';
import {
  bearer,
  callGateway,
  CREDENTIAL,
  type GatewayStage,
  openStage,
  route,
  startGateway,
  VENDOR_CREDENTIAL,
} from './stage';
import { sendJson, type StandIn, startStandIn } from './stand-in';

const FULL = '/dev/full';
const whereFull = existsSync(FULL) ? it : it.skip;
const CALLS = 5;

describe('A gateway whose log cannot be written', () => {
  let stage: GatewayStage;
  let upstream: StandIn;

  beforeAll(async () => {
    stage = await openStage();
    upstream = await startStandIn((_, response) => sendJson(response, { done: true }));
  });
  afterAll(async () => {
    await upstream.close();
    await stage.close();
  });

  const vendor = (): Readonly<Record<string, unknown>> => ({
    vendor: { url: upstream.url, credentials: [VENDOR_CREDENTIAL], routes: [route('POST /:id', 'write')] },
  });

  it('serves on after its reader has ended', async () => {
    const gateway = await startGateway(stage, vendor());
    gateway.process.stdout?.destroy();
    for (let count = 0; count < CALLS; count += 1)
      expect((await gateway.call(`/vendor/reader-${count}`, { json: {} })).status).toBe(200);
    expect(await gateway.stop()).toBe(0);
  });

  whereFull('serves while the disk is full', async () => {
    const port = await freePort();
    const file = join(stage.folder, 'full.json');
    const listening = { listen: `127.0.0.1:${port}`, service: stage.app.url, journal: './full-journal' };
    writeFileSync(file, JSON.stringify({ ...listening, upstreams: vendor() }));
    const full = openSync(FULL, 'w');
    const gateway = spawn(process.execPath, [MAIN, 'gateway', file], {
      env: { HOME: stage.folder, VENDOR_KEY: CREDENTIAL, GOVERNANCE_API_KEY: stage.reportKey },
      stdio: ['ignore', full, 'inherit'],
    });
    const ended = once(gateway, 'close');
    closeSync(full);
    const post = async (id: string): Promise<number> =>
      (await callGateway(`http://127.0.0.1:${port}`, `/vendor/${id}`, { json: {}, headers: bearer(stage.key) })).status;
    await until('the gateway serves', async () => {
      expect(gateway.exitCode).toBeNull();
      return (await post('first').catch(() => null)) === 200;
    });
    for (let count = 0; count < CALLS; count += 1) expect(await post(`full-${count}`)).toBe(200);
    gateway.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
  });
});
