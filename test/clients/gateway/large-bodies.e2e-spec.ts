import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import type {
  UpstreamClient,
  UpstreamRequest,
} from '../../../clients/cli/src/gateway/upstream/upstream-client.js' with { 'resolution-mode': 'import' };
import { loadGatewayModule } from './gateway-modules';

const MEBIBYTE = 2 ** 20;
/** Far more than the buffers of a connection. */
const LARGE = Buffer.alloc(64 * MEBIBYTE, 'a');

describe('A large body', () => {
  let server: Server;
  let client: UpstreamClient;
  const sockets: Socket[] = [];
  let take: (socket: Socket, bytes: Buffer) => void;

  beforeEach(async () => {
    server = createServer((socket) => {
      sockets.push(socket.on('error', () => socket.destroy()));
      socket.on('data', (bytes) => take(socket, bytes));
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { UpstreamClient: Client } = await loadGatewayModule('upstream/upstream-client');
    client = new Client({ url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`) });
  });
  afterEach(async () => {
    await client.close();
    for (const socket of sockets.splice(0)) socket.destroy();
    await once(server.close(), 'close');
  });

  const send = (body: Buffer): ReturnType<UpstreamClient['send']> => {
    const options: Omit<UpstreamRequest, 'body'> = {
      ...{ method: 'POST', target: '/a', headers: [], credentialQuery: '' },
      ...{ endsConnection: false, timeoutMs: 20_000 },
    };
    return client.send({ ...options, body }, new AbortController().signal);
  };

  it('comes with its length, byte for byte', async () => {
    const body = Buffer.from(Array.from({ length: 3 * MEBIBYTE + 1 }, (_, index) => index % 251));
    const received: Buffer[] = [];
    let length = 0;
    take = (socket, bytes) => {
      received.push(bytes);
      length += bytes.length;
      if (length > body.length && Buffer.concat(received).subarray(-body.length).equals(body))
        socket.write('HTTP/1.1 204 No Content\r\n\r\n');
    };
    expect(await send(body)).toMatchObject({ kind: 'response', status: 204 });
    const [head] = Buffer.concat(received).toString('latin1').split('\r\n\r\n', 1);
    expect(head?.toLowerCase().match(/content-length: .*|transfer-encoding.*/g)).toEqual([
      `content-length: ${body.length}`,
    ]);
  });

  it('waits outside of its connection, which over TLS would hold it a second time', async () => {
    const connected: Socket[] = [];
    const note = (message: unknown): void => void connected.push((message as { socket: Socket }).socket);
    subscribe('undici:client:connected', note);
    let written = 0;
    const stalled = new Promise<void>((resolve) => {
      take = (socket) => {
        socket.pause();
        resolve();
      };
    });
    const sending = send(LARGE);
    await stalled;
    unsubscribe('undici:client:connected', note);
    for (const { writableLength } of connected) written += writableLength;
    sockets[0]?.destroy();
    expect(await sending).toMatchObject({ kind: 'failure', reason: 'outcome_unknown' });
    expect(connected).toHaveLength(1);
    expect(written).toBeLessThan(MEBIBYTE);
  });

  it('that is answered before it was read keeps no other request back', async () => {
    take = (socket) => {
      socket.pause();
      socket.write('HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n');
    };
    const refused = await send(LARGE);
    expect(refused).toMatchObject({ kind: 'response', status: 413 });
    if (refused.kind === 'response') await once(refused.body.resume(), 'close');
    take = (socket) => socket.write('HTTP/1.1 204 No Content\r\n\r\n');
    expect(await send(Buffer.from('{}'))).toMatchObject({ kind: 'response', status: 204 });
    expect(sockets).toHaveLength(2);
  });

  it('of which a part was read has an unknown outcome when its connection ends', async () => {
    take = (socket) => socket.destroy();
    expect(await send(LARGE)).toMatchObject({ kind: 'failure', reason: 'outcome_unknown' });
  });
});
