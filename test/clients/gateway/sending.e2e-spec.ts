import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import tls, { createServer as createTlsServer } from 'node:tls';
import type {
  UpstreamClient,
  UpstreamRequest,
} from '../../../clients/cli/src/gateway/upstream/upstream-client.js' with { 'resolution-mode': 'import' };
import { type Certificate, hasOpenssl, makeCertificate } from './certificates';
import { loadGatewayModule } from './gateway-modules';
import { RawUpstream, respond } from './raw-upstream';

const whereOpenssl = hasOpenssl ? it : it.skip;
const OK = respond('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');

const REQUEST: UpstreamRequest = {
  method: 'POST',
  target: '/v1/refunds',
  headers: [],
  credentialQuery: '',
  body: Buffer.from('{}'),
  endsConnection: false,
  timeoutMs: 60_000,
};
const NOT_SENT = { kind: 'failure', reason: 'not_sent' };
const READ: Partial<UpstreamRequest> = { method: 'GET', body: Buffer.alloc(0) };

describe('A request to an upstream', () => {
  let Client: typeof UpstreamClient;
  let upstream: RawUpstream;
  let client: UpstreamClient;
  const others: (() => Promise<unknown>)[] = [];

  beforeAll(async () => {
    ({ UpstreamClient: Client } = await loadGatewayModule('upstream/upstream-client'));
  });
  beforeEach(async () => {
    upstream = await RawUpstream.open();
    client = clientOf(`http://localhost:${upstream.port}`);
  });
  afterEach(async () => {
    await Promise.all(others.splice(0).map((close) => close()));
    await upstream.close();
  });

  function clientOf(url: string, ca?: string): UpstreamClient {
    const opened = new Client({ url: new URL(url), ...(ca !== undefined && { ca }) });
    others.push(() => opened.close());
    return opened;
  }

  function send(changes: Partial<UpstreamRequest> = {}, by = client, signal = new AbortController().signal) {
    return by.send({ ...REQUEST, ...changes }, signal);
  }

  /** The body of the answer, which has to come. */
  async function textOf(changes: Partial<UpstreamRequest> = {}, by = client): Promise<string> {
    const result = await send(changes, by);
    if (result.kind === 'failure') throw new Error(`${result.reason} ${result.code}`);
    const chunks: Buffer[] = [];
    for await (const chunk of result.body as AsyncIterable<Buffer>) chunks.push(chunk);
    return Buffer.concat(chunks).toString();
  }

  describe('as bytes', () => {
    it('goes on as it came, with a length', async () => {
      const body = Buffer.from([0, 255, 13, 10, 128]);
      const target = '/v1/a%2Fb;c=1/%e4?x=%20&y[]=1&y[]=~|{}&empty';
      await textOf({ target, body, headers: [['Content-Type', 'text/plain; \xe4']] });
      const host = `host: localhost:${upstream.port}\r\n`;
      const head = `POST ${target} HTTP/1.1\r\n${host}connection: keep-alive\r\nContent-Type: text/plain; \xe4\r\n`;
      expect(upstream.requests).toEqual([`${head}content-length: 5\r\n\r\n${body.toString('latin1')}`]);
    });

    it('follows the path of the upstream, and has its credentials after the query', async () => {
      const below = clientOf(`http://localhost:${upstream.port}/base/`);
      for (const target of ['/a', '/a?', '/a?b=1']) await textOf({ target, credentialQuery: 'key=k%20v' }, below);
      const targets = upstream.requests.map((request) => request.split(' ')[1]);
      expect(targets).toEqual(['/base/a?key=k%20v', '/base/a?&key=k%20v', '/base/a?b=1&key=k%20v']);
    });

    it.each(['GET', 'HEAD', 'DELETE', 'OPTIONS'])(
      'has neither body nor length if it is an empty %s',
      async (method) => {
        await send({ method, body: Buffer.alloc(0) });
        expect(upstream.requests[0]).not.toMatch(/content-length|transfer-encoding/i);
      },
    );

    it.each(['POST', 'PUT', 'PATCH'])('has a length of 0 if it is an empty %s', async (method) => {
      await send({ method, body: Buffer.alloc(0) });
      expect(upstream.requests[0]).toContain('\r\ncontent-length: 0\r\n\r\n');
    });
  });

  describe('and its answer', () => {
    it('has status, headers and body as they came', async () => {
      upstream.answers = [respond('HTTP/1.1 299 Odd\r\nX-A: 1\r\nx-a: \xe4\r\nContent-Length: 3\r\n\r\na\0b')];
      const result = await send();
      expect(result).toMatchObject({ kind: 'response', status: 299 });
      expect(result.kind === 'response' && result.headers).toEqual([
        ['X-A', '1'],
        ['x-a', '\xe4'],
        ['Content-Length', '3'],
      ]);
      expect(await textOf()).toBe('a\0b');
    });

    it('is no redirect that is followed', async () => {
      upstream.answers = [respond('HTTP/1.1 307 Go\r\nLocation: /other\r\nContent-Length: 0\r\n\r\n')];
      expect(await send()).toMatchObject({ kind: 'response', status: 307 });
      expect(upstream.requests).toHaveLength(1);
    });

    it('follows one that is only a hint', async () => {
      upstream.answers = [respond('HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n')];
      expect(await send()).toMatchObject({ kind: 'response', status: 204, headers: [] });
    });

    it('has no trailers', async () => {
      const chunked = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n';
      upstream.answers = [respond(`${chunked}2\r\nok\r\n0\r\nX-T: 1\r\n\r\n`)];
      expect(await textOf()).toBe('ok');
    });

    it.each([
      ['a length', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab'],
      ['chunks', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab'],
    ])('breaks off with an error, with %s', async (_, text) => {
      upstream.answers = [(socket: Socket) => socket.end(text)];
      const result = await send();
      expect(result).toMatchObject({ kind: 'response', status: 200 });
      await expect(textOf()).rejects.toThrow();
    });

    it('ends its connection if it is not read', async () => {
      upstream.answers = [respond('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab')];
      const result = await send();
      if (result.kind === 'failure') throw new Error(result.code);
      result.body.destroy();
      await upstream.disconnected();
    });

    it('ends with an error when the call is cancelled', async () => {
      upstream.answers = [respond('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab')];
      const call = new AbortController();
      const result = await send({}, client, call.signal);
      if (result.kind === 'failure') throw new Error(result.code);
      call.abort();
      await expect(result.body.toArray()).rejects.toThrow('CANCELLED');
      await upstream.disconnected();
    });
  });

  describe('was not sent', () => {
    it('where the connection is refused', async () => {
      const closed = await RawUpstream.open();
      const refused = clientOf(`http://localhost:${closed.port}`);
      await closed.close();
      expect(await send({}, refused)).toEqual({ ...NOT_SENT, code: 'ECONNREFUSED' });
    });

    it('where the name leads nowhere', async () => {
      expect(await send({}, clientOf('http://no-such-host.invalid'))).toMatchObject(NOT_SENT);
    });

    whereOpenssl('where the connection is reset during the handshake', async () => {
      upstream.onConnection = (socket) => socket.once('data', () => socket.resetAndDestroy());
      expect(await send({}, clientOf(`https://localhost:${upstream.port}`))).toMatchObject(NOT_SENT);
    });

    it('where the handshake does not end in time', async () => {
      const secure = clientOf(`https://localhost:${upstream.port}`);
      expect(await send({ timeoutMs: 300 }, secure)).toEqual({ ...NOT_SENT, code: 'TIMEOUT' });
    });

    it('where the call was cancelled before, or while it connected', async () => {
      expect(await send({}, client, AbortSignal.abort())).toEqual({ ...NOT_SENT, code: 'CANCELLED' });
      expect(upstream.connections.size).toBe(0);
      const secure = clientOf(`https://localhost:${upstream.port}`);
      const call = new AbortController();
      upstream.onConnection = () => call.abort();
      expect(await send({}, secure, call.signal)).toEqual({ ...NOT_SENT, code: 'CANCELLED' });
    });

    it('where it cannot be written as HTTP', async () => {
      expect(await send({ headers: [['x', 'a\nb']] })).toMatchObject(NOT_SENT);
      expect(upstream.requests).toEqual([]);
    });
  });

  describe('has an unknown outcome', () => {
    const UNKNOWN = { kind: 'failure', reason: 'outcome_unknown' };

    it.each<[string, (socket: Socket) => unknown]>([
      ['is reset', (socket) => socket.resetAndDestroy()],
      ['ends', (socket) => socket.end()],
      ['breaks off within the head', (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-')],
      ['carries no HTTP', (socket) => socket.end('SSH-2.0-x\r\n')],
      ['is upgraded', (socket) => socket.write('HTTP/1.1 101 Go\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n')],
      ['has a head that is too long', (socket) => socket.write(`HTTP/1.1 200 OK\r\nX: ${'a'.repeat(70_000)}\r\n\r\n`)],
      [
        'has two lengths',
        (socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab'),
      ],
    ])('where the connection %s after it was sent', async (_, answer) => {
      upstream.answers = [answer];
      expect(await send()).toMatchObject(UNKNOWN);
      expect(upstream.requests).toHaveLength(1);
    });

    it('or was not sent, and is not repeated, where the connection is reset as soon as it is there', async () => {
      upstream.onConnection = (socket) => socket.resetAndDestroy();
      // The reset may come before the first byte is written, or after it.
      expect(await send()).toMatchObject({ kind: 'failure', code: expect.stringMatching(/^ECONNRESET$|^EPIPE$/) });
      expect(upstream.connections.size).toBe(1);
    });

    it('where no answer comes in time', async () => {
      upstream.answers = [() => undefined];
      expect(await send({ timeoutMs: 300 })).toEqual({ ...UNKNOWN, code: 'TIMEOUT' });
    });

    it('where the head does not end in time', async () => {
      upstream.answers = [respond('HTTP/1.1 200 OK\r\n')];
      expect(await send({ timeoutMs: 300 })).toEqual({ ...UNKNOWN, code: 'TIMEOUT' });
    });

    it('where it is cancelled after it was sent', async () => {
      upstream.answers = [() => undefined];
      const call = new AbortController();
      const [result] = await Promise.all([
        send({}, client, call.signal),
        upstream.received(1).then(() => call.abort()),
      ]);
      expect(result).toEqual({ ...UNKNOWN, code: 'CANCELLED' });
    });

    it.each(['GET', 'HEAD', 'PUT', 'DELETE', 'POST'])(
      'and is not sent again, as %s on a used connection',
      async (method) => {
        await textOf({ method, ...(method !== 'POST' && method !== 'PUT' && { body: Buffer.alloc(0) }) });
        upstream.answers = [(socket: Socket) => socket.resetAndDestroy()];
        expect(await send({ method, body: Buffer.alloc(0) })).toMatchObject(UNKNOWN);
        expect(upstream.requests).toHaveLength(2);
      },
    );
  });

  describe('over TLS', () => {
    let folder: string;
    let certificate: Certificate;
    let secure: RawUpstream;

    beforeAll(() => {
      folder = mkdtempSync(join(tmpdir(), 'gateway-'));
    });
    afterAll(() => rmSync(folder, { recursive: true }));

    async function openSecure(name: string): Promise<string> {
      certificate = makeCertificate(folder, name);
      const server = createTlsServer({ ...certificate, ALPNProtocols: ['h2', 'http/1.1'] });
      // Handshakes that fail are the client's concern here.
      server.on('tlsClientError', () => undefined);
      secure = await RawUpstream.openTls(server);
      others.push(() => secure.close());
      return `https://localhost:${secure.port}`;
    }

    whereOpenssl('is sent by HTTP/1.1 where the file of authorities has the certificate', async () => {
      const url = await openSecure('localhost');
      secure.answers = [OK];
      expect(await textOf({}, clientOf(url, certificate.path))).toBe('ok');
      expect(secure.requests[0]).toMatch(/^POST \/v1\/refunds HTTP\/1\.1\r\n/);
    });

    whereOpenssl('reads the authorities once for all connections, as that takes long', async () => {
      const url = await openSecure('localhost');
      secure.answers = [respond('HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok')];
      const [first, second] = [clientOf(url, certificate.path), clientOf(url, certificate.path)];
      const contexts = jest.spyOn(tls, 'createSecureContext');
      const texts = await Promise.all([first, first, first, second, second].map((by) => textOf({}, by)));
      const made = contexts.mock.calls.length;
      contexts.mockRestore();
      expect([texts, made, secure.connections.size]).toEqual([Array(5).fill('ok'), 0, 5]);
    });

    whereOpenssl('reads each of several files of authorities once, as SIGHUP reads them all again', async () => {
      const url = await openSecure('localhost');
      const other = join(folder, 'other.pem');
      writeFileSync(other, `${readFileSync(certificate.path, 'utf8')}\n`);
      const contexts = jest.spyOn(tls, 'createSecureContext');
      for (const path of [certificate.path, other, certificate.path, other]) clientOf(url, path);
      const made = contexts.mock.calls.length;
      contexts.mockRestore();
      expect(made).toBe(2);
    });

    whereOpenssl.each(['TIMEOUT', 'CANCELLED'])(
      'is never sent where it was given up while it connected (%s), also when the handshake ends later',
      async (code) => {
        await openSecure('localhost');
        secure.answers = [OK];
        const door = await openSlowDoor(secure.port);
        others.push(() => door.close());
        const slow = clientOf(`https://localhost:${door.port}`, certificate.path);
        const ending = new AbortController();
        const sending = send({ timeoutMs: code === 'TIMEOUT' ? 300 : 60_000 }, slow, ending.signal);
        await door.arrival;
        if (code === 'CANCELLED') ending.abort();
        expect(await sending).toEqual({ ...NOT_SENT, code });
        door.open();
        // It goes over the connection that has been made meanwhile, or over another one after it.
        expect(await textOf({ target: '/second' }, slow)).toBe('ok');
        expect(secure.requests.map((request) => request.split(' ')[1])).toEqual(['/second']);
      },
    );

    whereOpenssl.each([
      ['nobody vouches for the certificate', 'localhost', false],
      ['the certificate has another name', 'other.example', true],
    ])('is not sent where %s, whatever the environment says', async (_, name, isTrusted) => {
      const url = await openSecure(name);
      const before = process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
      process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
      try {
        const result = await send({}, clientOf(url, isTrusted ? certificate.path : undefined));
        expect(result).toMatchObject({ reason: 'not_sent' });
        expect(secure.requests).toEqual([]);
      } finally {
        if (before === undefined) delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
        else process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = before;
      }
    });
  });

  describe('and its connection', () => {
    it('is used again, for reading and for writing', async () => {
      for (const changes of [READ, READ, {}, {}]) {
        await textOf(changes);
        // A connection is free in the next turn of the event loop.
        await sleep(20);
      }
      const [first, second, third, fourth] = upstream.sockets;
      expect([first === second, third === fourth]).toEqual([true, true]);
    });

    it('carries nothing but GET and HEAD after four idle seconds', async () => {
      for (const changes of [READ, {}]) await textOf(changes);
      await sleep(4_200);
      for (const changes of [READ, {}]) await textOf(changes);
      const [read, write, laterRead, laterWrite] = upstream.sockets;
      expect([read === laterRead, write === laterWrite]).toEqual([true, false]);
    });

    it('is one of many: a slow answer delays no other', async () => {
      upstream.answers = [() => undefined, OK];
      const slow = send({ timeoutMs: 60_000 });
      await upstream.received(1);
      expect(await textOf()).toBe('ok');
      upstream.sockets[0]?.destroy();
      expect(await slow).toMatchObject({ reason: 'outcome_unknown' });
    });
  });
});

/** Passes nothing on until it is opened. */
interface SlowDoor {
  readonly port: number;
  /** Resolves once a connection has arrived. */
  readonly arrival: Promise<unknown>;
  open(): void;
  close(): Promise<void>;
}

async function openSlowDoor(target: number): Promise<SlowDoor> {
  const sockets: Socket[] = [];
  let isOpen = false;
  const join = (socket: Socket): void => {
    const passed = connect(target, 'localhost');
    for (const side of [socket, passed]) side.on('error', () => side.destroy());
    socket.pipe(passed).pipe(socket);
  };
  const server = createServer((socket) => {
    sockets.push(socket.on('error', () => socket.destroy()));
    if (isOpen) join(socket);
  });
  const arrival = once(server, 'connection');
  await once(server.listen(0, 'localhost'), 'listening');
  return {
    ...{ port: (server.address() as AddressInfo).port, arrival },
    open: () => {
      isOpen = true;
      sockets.forEach(join);
    },
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      sockets.forEach((socket) => socket.destroy());
      await closed;
    },
  };
}
