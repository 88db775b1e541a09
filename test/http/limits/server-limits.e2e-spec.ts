import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { API_KEY } from '../../support/application/api-key';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { send } from '../../support/application/send';
import { exchange, summaryOf, wire } from '../../support/application/wire';

const TOO_SLOW = /^HTTP\/1\.1 400 [^]*"field":"request","message":"must arrive in time"/;

describe('The limit of what a client may occupy on the server', () => {
  let app: TestApp;
  afterEach(() => app.close());

  function connected(): Socket {
    const { hostname, port } = new URL(app.url);
    return connect(Number(port), hostname);
  }

  /** Returns all text that a connection receives until the server ends it. */
  async function received(socket: Socket): Promise<string> {
    let text = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    await once(socket, 'close');
    return text;
  }

  /** The server has noticed that a client is gone. */
  async function connectionsLeft(): Promise<void> {
    const server = app.application.getHttpServer();
    const open = (): Promise<number> =>
      new Promise((resolve, reject) => {
        server.getConnections((error: Error | null, count: number) => (error ? reject(error) : resolve(count)));
      });
    while ((await open()) > 0) await new Promise((resolve) => setTimeout(resolve, 10));
  }

  it('is ten seconds for the head of a request; a connection that was not used ends without an answer', async () => {
    app = await createTestApp();
    const [silent, slow] = [connected(), connected()];
    slow.write('GET /api/v1/health HTTP/1.1\r\nX-Slow: ');
    const dripping = setInterval(() => slow.write('x'), 500);
    slow.on('error', () => undefined);
    const [ofSilent, ofSlow] = await Promise.all([received(silent), received(slow)]);
    clearInterval(dripping);
    expect(ofSlow).toMatch(TOO_SLOW);
    // A browser may send a request on it at this moment, and would take an answer for its own.
    expect(ofSilent).toBe('');
  });

  it('is the configured number of connections', async () => {
    app = await createTestApp({ environment: { MAX_CONNECTIONS: '2' } });
    const head = `GET /api/v1/stats HTTP/1.1\r\nHost: x\r\nX-API-Key: ${API_KEY}\r\n\r\n`;
    const held = [connected(), connected()];
    for (const socket of held) {
      socket.write(head);
      await once(socket, 'data');
    }
    const beyond = connected();
    beyond.on('error', () => undefined);
    expect(await received(beyond)).toBe('');
    held.forEach((socket) => socket.destroy());
    await connectionsLeft();
    expect((await send(app, 'GET', '/api/v1/stats')).status).toBe(200);
  });

  it('is 16 KiB of headers, however many, and none is overlooked', async () => {
    app = await createTestApp();
    const many = Array.from({ length: 3000 }, () => 'a:');
    const request = wire('GET /api/v1/stats HTTP/1.1', [...many, `X-API-Key: ${API_KEY}`]);
    expect((await exchange(app, request)).map(summaryOf)).toEqual([{ status: 401, code: 'UNAUTHORIZED' }]);
  });
});
