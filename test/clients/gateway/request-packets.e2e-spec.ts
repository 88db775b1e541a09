import { once } from 'node:events';
import type { Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { watchEnds } from '../../support/application/request-ends';
import { loadGatewayModule } from './gateway-modules';

/** Bytes that a server reads at once. */
const PACKET_BYTES = 64 * 1024;

describe('A packet that is full of requests', () => {
  let server: Server;

  afterEach(async () => {
    jest.restoreAllMocks();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  /** Sends one packet, and returns what came back, and how many of its requests ended with an error, when the connection has ended. */
  async function send(request: string): Promise<{ requests: number; answers: number; errors: number }> {
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const requests = Math.floor(PACKET_BYTES / request.length);
    const ended = watchEnds();
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => undefined);
    let received = '';
    socket.setEncoding('latin1').on('data', (chunk: string) => (received += chunk));
    const gone = new Promise((resolve) => socket.once('close', resolve));
    socket.write(request.repeat(requests));
    await gone;
    return { requests, answers: received.split('HTTP/1.1 200 OK').length - 1, errors: ended().byError };
  }

  it('ends its connection, after which no request is looked at', async () => {
    const { createListener } = await loadGatewayModule('listener/http-listener');
    let exchanges = 0;
    server = createListener(() => (exchanges += 1), null);
    const { requests, errors } = await send('GET / HTTP/1.1\r\n\r\n');
    expect(requests).toBeGreaterThan(3_000);
    // Those of the requests that waited.
    expect(errors).toBeLessThan(requests / 10);
    expect(exchanges).toBe(1);
  });

  it('has at most one answered at the address of the metrics', async () => {
    const { GatewayMetrics } = await loadGatewayModule('run/metrics');
    server = new GatewayMetrics({ running: () => 0, unreported: () => 0 }).createServer();
    const { requests, answers, errors } = await send('GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n');
    expect(answers).toBeLessThanOrEqual(1);
    expect(errors).toBeLessThan(requests / 10);
  });
});
