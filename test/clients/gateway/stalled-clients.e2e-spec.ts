import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import type { Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectSecurely, TLSSocket } from 'node:tls';
import { hasOpenssl, makeCertificate } from './certificates';
import { loadGatewayModule } from './gateway-modules';

/** More than the systems of both sides hold. */
const ANSWER = Buffer.alloc(32 * 2 ** 20);
/** In place of 30 seconds. */
const STALLED_MS = 200;

(hasOpenssl ? describe : describe.skip)('A client of the gateway that reads nothing of its answer', () => {
  let folder: string;
  let server: Server;

  beforeAll(() => (folder = mkdtempSync(join(tmpdir(), 'gov-stalled-'))));
  afterEach(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it.each([
    ['TLS', true],
    ['plain text', false],
  ])('loses its connection, and ends nothing else, with %s', async (_, isSecure) => {
    const { createListener } = await loadGatewayModule('listener/http-listener');
    const { cert, key } = makeCertificate(folder, 'localhost');
    server = createListener(({ response }) => response.end(ANSWER), isSecure ? { cert, key } : null);
    // It applies to new connections.
    server.setTimeout(STALLED_MS);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const closed = new Promise((resolve) =>
      server.once('request', ({ socket }) => socket.once('close', () => resolve(socket instanceof TLSSocket))),
    );
    const { port } = server.address() as AddressInfo;
    const client = isSecure
      ? connectSecurely({ port, host: '127.0.0.1', servername: 'localhost', ca: cert })
      : connect(port, '127.0.0.1');
    client.on('error', () => undefined);
    await once(client, isSecure ? 'secureConnect' : 'connect');
    client.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await expect(closed).resolves.toBe(isSecure);
    client.destroy();
  });
});
