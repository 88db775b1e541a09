import { once } from 'node:events';
import type { Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { loadGatewayModule } from './gateway-modules';

/** Bytes that a server reads at once. */
const PACKET_BYTES = 64 * 1024;

describe('A packet that is full of requests', () => {
  let server: Server;

  afterEach(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  /**
   * Sends one packet. Returns, when the connection has ended, how many requests were in it, were read, and were
   * answered.
   */
  async function send(request: string): Promise<{ sent: number; read: number; answers: number }> {
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const sent = Math.floor(PACKET_BYTES / request.length);
    let read = 0;
    server.on('request', () => (read += 1));
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => undefined);
    let received = '';
    socket.setEncoding('latin1').on('data', (chunk: string) => (received += chunk));
    const gone = new Promise((resolve) => socket.once('close', resolve));
    socket.write(request.repeat(sent));
    await gone;
    return { sent, read, answers: received.split('HTTP/1.1 200 OK').length - 1 };
  }

  it('ends its connection, after which no request is read', async () => {
    const { createListener } = await loadGatewayModule('listener/http-listener');
    let exchanges = 0;
    server = createListener(() => (exchanges += 1), null);
    const { sent, read } = await send('GET / HTTP/1.1\r\n\r\n');
    expect(sent).toBeGreaterThan(3_000);
    // The first one, those that waited, and the one that ended the connection.
    expect(read).toBe(12);
    expect(exchanges).toBe(1);
  });

  it('has at most one answered at the address of the metrics', async () => {
    const { GatewayMetrics } = await loadGatewayModule('run/metrics');
    server = new GatewayMetrics({ running: () => 0, unreported: () => 0 }).createServer();
    const { read, answers } = await send('GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n');
    expect(answers).toBeLessThanOrEqual(1);
    // The second one ends the connection.
    expect(read).toBeLessThanOrEqual(2);
  });
});
