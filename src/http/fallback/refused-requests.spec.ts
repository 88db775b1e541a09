import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { RateLimits } from '../rate-limit/rate-limits';
import { createHttpServer, TURN } from '../server/http-server';
import { answerRefusedRequests } from './refused-requests';

describe('answerRefusedRequests', () => {
  it('refuses behind the answer that is pending, also where requests are counted elsewhere', async () => {
    const counter = { hit: async () => ({ hits: 1, resetsAt: Date.now() }), close: () => undefined };
    const server = createHttpServer();
    answerRefusedRequests(server, new RateLimits(10, counter));
    server.on(TURN, (_request: unknown, response: ServerResponse) => setImmediate(() => response.end('first')));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\nNONSENSE\r\n\r\n');
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 200 OK[^]*first[^]*HTTP\/1\.1 400 Bad Request/);
    server.close();
  });
});
