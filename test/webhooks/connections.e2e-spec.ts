import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeOnSqlite } from '../support/database/database-kind';
import { ROOT } from '../support/documents/markdown';
import { startProgram, type StartedProgram } from '../support/processes/started-program';

const MAIN = join(ROOT, 'dist', 'main.js');
const WEBHOOKS = '/api/v1/webhooks';
const DELIVERIES = 5;

const hasOpenssl = spawnSync('openssl', ['version']).status === 0;
if (!hasOpenssl) process.stdout.write('SKIPPED: webhooks over HTTPS need openssl to make a certificate.\n');

describeOnSqlite('Connections to the endpoints of webhooks', () => {
  let folder: string;
  let program: StartedProgram;
  let server: Server;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'webhook-connections-'));
    if (hasOpenssl) for (const name of ['trusted', 'stranger']) makeCertificate(name);
    program = await startProgram(MAIN, {
      ...{
        WEBHOOK_ALLOW_HTTP: 'true',
        WEBHOOK_ALLOW_PRIVATE: 'true',
        NODE_EXTRA_CA_CERTS: join(folder, 'trusted.pem'),
      },
    });
  });
  afterEach(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  afterAll(async () => {
    await program.stop();
    rmSync(folder, { recursive: true });
  });

  function makeCertificate(name: string): void {
    const files = ['-keyout', join(folder, `${name}.key`), '-out', join(folder, `${name}.pem`)];
    const about = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost', '-days', '2'];
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
    execFileSync('openssl', ['req', '-x509', ...key, ...files, ...about], { stdio: 'ignore' });
  }

  function secureServer(name: string): Server {
    const [key, cert] = ['key', 'pem'].map((kind) => readFileSync(join(folder, `${name}.${kind}`)));
    return createSecureServer({ ...(key && { key }), ...(cert && { cert }) });
  }

  async function listen(protocol: 'http' | 'https'): Promise<string> {
    // Only the test is to close connections.
    server.keepAliveTimeout = 0;
    await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
    return `${protocol}://localhost:${(server.address() as AddressInfo).port}/`;
  }

  async function webhookTo(url: string): Promise<string> {
    const { status, body } = await program.send('POST', WEBHOOKS, { body: { url, actions: ['agent.created'] } });
    expect(status).toBe(201);
    return `${WEBHOOKS}/${body.id}`;
  }

  async function createAgents(names: string): Promise<void> {
    for (let made = 0; made < DELIVERIES; made += 1) {
      const { status } = await program.send('POST', '/api/v1/agents', { body: { name: `${names} ${made}` } });
      expect(status).toBe(201);
    }
  }

  it('that were closed while idle do not count as an attempt: the delivery is repeated at once', async () => {
    server = createServer();
    const used = new Set<Socket>();
    const arrivals: string[] = [];
    const nextAttempts: unknown[] = [];
    let path = '';
    const ended = new Promise<void>((resolve, reject) => {
      const confirm = async (response: ServerResponse): Promise<void> => {
        nextAttempts.push((await program.send('GET', path)).body.delivery.nextAttemptAt);
        response.writeHead(204).end();
        if (nextAttempts.length === DELIVERIES) resolve();
      };
      server.on('request', (request, response) => {
        const { socket } = request;
        arrivals.push(String(request.headers['webhook-id']));
        request.resume();
        // Each connection serves one delivery, and is gone without notice when the next one comes.
        if (used.has(socket)) socket.resetAndDestroy();
        else confirm(response).catch(reject);
        used.add(socket);
      });
    });
    path = await webhookTo(await listen('http'));
    await createAgents('stale');
    await ended;
    const order = [...new Set(arrivals)];
    expect(order).toHaveLength(DELIVERIES);
    expect(arrivals).toEqual(order.flatMap((id, index) => (index === 0 ? [id] : [id, id])));
    expect(nextAttempts).toEqual(order.map(() => null));
    await program.send('DELETE', path);
  });

  (hasOpenssl ? it : it.skip)('are made over TLS, kept, and verified', async () => {
    server = secureServer('trusted');
    const connections = new Set<Socket>();
    let received = 0;
    const ended = new Promise<void>((resolve) => {
      server.on('request', (request, response) => {
        connections.add(request.socket);
        request.resume().on('end', () => {
          response.writeHead(204).end();
          received += 1;
          if (received === DELIVERIES) resolve();
        });
      });
    });
    const path = await webhookTo(await listen('https'));
    await createAgents('secure');
    await ended;
    expect(connections.size).toBe(1);
    await program.send('DELETE', path);
  });

  (hasOpenssl ? it : it.skip)('are not made where the certificate is not trusted', async () => {
    server = secureServer('stranger');
    let requests = 0;
    server.on('request', () => (requests += 1));
    const path = await webhookTo(await listen('https'));
    const tried = await program.send('POST', `${path}/test`);
    expect(tried).toMatchObject({ status: 200, body: { status: null } });
    expect(requests).toBe(0);
    await program.send('DELETE', path);
  });
});
