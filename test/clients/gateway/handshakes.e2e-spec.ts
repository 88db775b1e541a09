import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import type { Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectSecurely, type TLSSocket } from 'node:tls';
import { until } from '../../faults/support/watch';
import { hasOpenssl, makeCertificate } from './certificates';
import { loadGatewayModule } from './gateway-modules';

const HANDSHAKES = 1_000;
/** The beginning of the first message of a handshake. */
const BEGINNING = Buffer.from([0x16, 3, 1, 2, 0, 1]);

(hasOpenssl ? describe : describe.skip)('Connections of the gateway whose handshake has not ended', () => {
  let folder: string;
  let cert: string;
  let server: Server;
  const clients: Socket[] = [];

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'gov-handshakes-'));
    const certificate = makeCertificate(folder, 'localhost');
    ({ cert } = certificate);
    const { createListener } = await loadGatewayModule('listener/http-listener');
    server = createListener(({ response }) => response.end('served'), certificate);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  afterAll(async () => {
    for (const client of clients) client.destroy();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    rmSync(folder, { recursive: true, force: true });
  });

  const port = (): number => (server.address() as AddressInfo).port;

  async function openSecurely(): Promise<TLSSocket> {
    const client = connectSecurely({ port: port(), host: '127.0.0.1', servername: 'localhost', ca: cert });
    clients.push(client.on('error', () => undefined));
    await once(client, 'secureConnect');
    return client;
  }

  async function begin(): Promise<Socket> {
    const client = connect(port(), '127.0.0.1').on('error', () => undefined);
    clients.push(client);
    await once(client, 'connect');
    client.resume().write(BEGINNING);
    return client;
  }

  it('are 1,000, of which the oldest ends for another one; those whose handshake has ended stay', async () => {
    const secure = await openSecurely();
    const begun: Socket[] = [];
    for (let count = 0; count <= HANDSHAKES; count += 1) begun.push(await begin());
    await until('the oldest has ended', () => begun[0]?.destroyed === true);
    expect(begun.filter(({ destroyed }) => destroyed)).toHaveLength(1);
    for (const client of [secure, await openSecurely()]) {
      client.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
      const [answer] = (await once(client, 'data')) as [Buffer];
      expect(answer.toString()).toMatch(/^HTTP\/1\.1 200 /);
    }
  });
});
