import { once } from 'node:events';
import { connect } from 'node:net';
import { processorSeconds } from '../../../bench/support/process-figures';
import { freePort } from '../../../bench/support/free-port';
import { type GatewayStage, openStage, route, type StartedGateway, startGateway, VENDOR_CREDENTIAL } from './stage';

/** Bytes that a server reads at once. */
const PACKET_BYTES = 64 * 1024;
const PACKETS = 15;
/** Seconds of the processor: far more than the packets take, and less than if all of their requests were looked at. */
const MAX_SECONDS = 4;

describe('Packets that are full of requests', () => {
  let stage: GatewayStage;
  let gateway: StartedGateway;
  let metrics: string;

  beforeAll(async () => {
    stage = await openStage();
    metrics = `127.0.0.1:${await freePort()}`;
    const vendor = { url: 'http://127.0.0.1:1', credentials: [VENDOR_CREDENTIAL], routes: [route('GET /a', 'read')] };
    gateway = await startGateway(stage, { vendor }, { file: { metrics } });
  });
  afterAll(async () => {
    expect(await gateway.stop()).toBe(0);
    await stage.close();
  });

  /** Sends each packet on a connection of its own, and returns the time of the processor until all of these have ended. */
  async function timeOf(origin: string, request: string): Promise<number> {
    const { hostname, port } = new URL(origin);
    const packet = request.repeat(Math.floor(PACKET_BYTES / request.length));
    const sockets = Array.from({ length: PACKETS }, () => connect(Number(port), hostname));
    for (const socket of sockets) socket.on('error', () => undefined).resume();
    await Promise.all(sockets.map((socket) => once(socket, 'connect')));
    const { pid = 0 } = gateway.process;
    const before = processorSeconds(pid);
    await Promise.all(
      sockets.map((socket) => new Promise<void>((resolve) => socket.once('close', () => resolve()).write(packet))),
    );
    return processorSeconds(pid) - before;
  }

  it('end their connection, and take little time', async () => {
    expect(await timeOf(gateway.url, 'GET / HTTP/1.1\r\n\r\n')).toBeLessThan(MAX_SECONDS);
    expect((await gateway.call('/-/health')).status).toBe(200);
  });

  it('do so at the address of the metrics, where a connection has one request', async () => {
    const request = 'GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n';
    expect(await timeOf(`http://${metrics}`, request)).toBeLessThan(MAX_SECONDS);
    const { status, headers } = await fetch(`http://${metrics}/metrics`);
    expect([status, headers.get('Connection')]).toEqual([200, 'close']);
  });
});
