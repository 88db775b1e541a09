import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { until } from '../../faults/support/watch';
import { RawUpstream, respond } from './raw-upstream';
import { type GatewayStage, openStage, route, type StartedGateway, startGateway } from './stage';

/** Marks that would have to be put in order: the time for it grows with the square of their number. */
const MARKS = `${'\u0301'.repeat(220_000)}${'\u0316'.repeat(220_000)}`;
/** Milliseconds in which a minute of work would not end. */
const TIMEOUT = 30_000;
const KIBIBYTES = 1_024;
const [FIRST_SECRET, SECOND_SECRET] = ['first-credential-of-the-vendor', 'second-credential-of-the-vendor'];

describe('The gateway and a hostile agent', () => {
  let stage: GatewayStage;
  let upstream: RawUpstream;
  let gateway: StartedGateway;
  let secretFile: string;

  beforeAll(async () => {
    stage = await openStage();
    upstream = await RawUpstream.open();
    secretFile = join(stage.folder, 'secret');
    writeFileSync(secretFile, FIRST_SECRET);
    const routes = [
      route('POST /refunds/:id', 'refund'),
      { match: 'GET /accounts', action: 'read', resource: { type: 'api', id: 'accounts/${query:id}' }, query: true },
      route('POST,GET /:kind/:id', 'write'),
    ];
    const credentials = [{ header: 'Authorization', value: `Bearer \${file:${secretFile}}` }];
    gateway = await startGateway(stage, { vendor: { url: `http://localhost:${upstream.port}`, credentials, routes } });
  });
  afterAll(async () => {
    expect(await gateway.stop()).toBe(0);
    await upstream.close();
    await stage.close();
  });

  function head(method: string, path: string, ...lines: readonly string[]): string {
    const { host } = new URL(gateway.url);
    return [`${method} /vendor${path} HTTP/1.1`, `Host: ${host}`, `X-API-Key: ${stage.key}`, ...lines, '', ''].join(
      '\r\n',
    );
  }

  function residentMebibytes(): number {
    const status = readFileSync(`/proc/${String(gateway.process.pid)}/status`, 'utf8');
    return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / KIBIBYTES;
  }

  function open(): Socket {
    const { hostname, port } = new URL(gateway.url);
    const socket = connect(Number(port), hostname);
    return socket.on('error', () => socket.destroy());
  }

  it.each([
    ['a name of JSON', { json: { [MARKS]: 1 } }],
    ['a field of a form', { form: `${encodeURIComponent(MARKS.slice(0, 1_000))}=1` }],
  ])(
    'refuses %s that is a run of combining characters',
    async (_what, request) => {
      const { status, error } = await gateway.call('/vendor/marks/1', request);
      expect([status, error?.reason]).toEqual([400, 'body_ambiguous']);
    },
    TIMEOUT,
  );

  it(
    'refuses a path that is one',
    async () => {
      const path = '%CC%81%CC%96'.repeat(4_500);
      const { status, error } = await gateway.call(`/vendor/marks/${path}`, { json: {} });
      expect([status, error?.reason]).toEqual([400, 'path_ambiguous']);
    },
    TIMEOUT,
  );

  it(
    'refuses the head of a part that has one',
    async () => {
      const part = `--b\r\nContent-Disposition: form-data; name="a"; filename="${MARKS.slice(0, 3_000)}"\r\n\r\n1\r\n`;
      const headers = { 'Content-Type': 'multipart/form-data; boundary=b' };
      const { status, error } = await gateway.call('/vendor/marks/2', {
        form: `${part.repeat(150)}--b--\r\n`,
        headers,
      });
      expect([status, error?.reason]).toEqual([400, 'body_ambiguous']);
    },
    TIMEOUT,
  );

  it('takes as much memory for a body of single bytes as for any other', async () => {
    await gateway.call('/vendor/bytes/0', { json: {} });
    const before = residentMebibytes();
    const socket = open();
    socket.write(head('POST', '/bytes/1', 'Content-Type: text/plain', 'Transfer-Encoding: chunked'));
    const part = '1\r\na\r\n'.repeat(10_000);
    for (let count = 0; count < 60; count += 1)
      await new Promise<void>((resolve) => void socket.write(part, () => resolve()));
    const after = residentMebibytes();
    const arrival = once(socket, 'data');
    socket.write('0\r\n\r\n');
    const [answer] = (await arrival) as [Buffer];
    expect(answer.toString()).toContain('HTTP/1.1 200 ');
    expect(after - before).toBeLessThan(80);
    socket.destroy();
  });

  it('carries out what one connection sends in its order', async () => {
    const before = upstream.requests.length;
    const socket = open();
    const body = ['Content-Type: application/json', 'Content-Length: 2'];
    socket.write(`${head('POST', '/ordered/1', ...body)}{}${head('GET', '/ordered/2')}`);
    await upstream.received(before + 2);
    const lines = upstream.requests.slice(before).map((request) => request.split(' HTTP/1.1', 1)[0]);
    expect(lines).toEqual(['POST /ordered/1', 'GET /ordered/2']);
    socket.destroy();
  });

  it.each<[string, number, string, string?]>([
    ['twelve requests', 12, ''],
    ['heads of 180 KiB', 3, 'x'.repeat(60 * 1_024)],
    ['targets of 180 KiB', 3, '', `/crowd/2?${'x'.repeat(60 * 1_024)}`],
  ])('ends a connection on which %s wait', async (_what, count, text, target = '/crowd/2') => {
    const before = upstream.requests.length;
    upstream.answers = [() => undefined];
    const socket = open();
    const closed = once(socket, 'close');
    socket.resume();
    socket.write(head('GET', '/crowd/1'));
    await upstream.received(before + 1);
    socket.write(head('GET', target, `X-Long: ${text}`).repeat(count));
    await closed;
    upstream.answers = [respond('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')];
    expect((await gateway.call('/vendor/after/2')).status).toBe(200);
  });

  it('withdraws what waits behind another request once the client has left', async () => {
    const before = upstream.requests.length;
    upstream.answers = [() => undefined];
    const socket = open();
    const body = ['Content-Type: application/json', 'Content-Length: 2'];
    socket.write(`${head('GET', '/slow/1')}${head('POST', '/refunds/7', ...body)}{}`);
    await upstream.received(before + 1);
    socket.destroy();
    upstream.answers = [respond('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')];
    await until('the first is ended', () => upstream.sockets.at(-1)?.destroyed === true);
    // A later request on another connection is served after whatever the first connection still had.
    expect((await gateway.call('/vendor/after/1')).status).toBe(200);
    expect(await stage.executions('&resourceId=refunds/7')).toEqual([]);
  });

  it('refuses a query that some programs read with another first name', async () => {
    const { status, error } = await gateway.call('/vendor/accounts??id=of-others&id=public');
    expect([status, error?.reason]).toEqual([400, 'query_ambiguous']);
  });

  it.each(['_HttpMethod', 'X-HTTP-Method-Override', '$method', '$httpMethod', '$HTTPMETHOD', '$httpHeaders'])(
    'refuses another name of the method or of headers: %s',
    async (name) => {
      const { status, error } = await gateway.call('/vendor/methods/1', { json: { [name]: 'DELETE' } });
      expect([status, error?.reason]).toEqual([400, 'body_ambiguous']);
      expect((await gateway.call(`/vendor/methods/1?${name}=DELETE`)).error?.reason).toBe('query_ambiguous');
      const encoded = await gateway.call(`/vendor/methods/1?${encodeURIComponent(name)}[a]=DELETE`);
      expect(encoded.error?.reason).toBe('query_ambiguous');
    },
  );

  it('passes on a parameter method', async () => {
    expect((await gateway.call('/vendor/methods/1?method=delete')).status).toBe(200);
  });

  it.each([
    ['text/plain', 'DELETE /charges/9 HTTP/1.1\r\nX-Swallow: '],
    ['text/plain', ' DELETE /charges/9 HTTP/1.1\r\nX-Swallow: '],
    ['application/octet-stream', `${'\r\n'.repeat(1_000)}\x0bDELETE\xa0/charges/9 HTTP/1.1\r\nX-Swallow: `],
    ['application/x-www-form-urlencoded', 'DELETE /charges?a=9 HTTP/1.1\r\nX-Swallow: '],
  ])('ends the connection behind a body that an upstream could take for a request: %s %j', async (type, smuggled) => {
    const before = upstream.requests.length;
    const headers = { 'Content-Type': type };
    expect((await gateway.call('/vendor/texts/1', { form: smuggled, headers })).status).toBe(200);
    expect(upstream.requests[before]?.toLowerCase()).toContain('connection: close');
    expect((await gateway.call('/vendor/texts/2', { json: {} })).status).toBe(200);
    expect(upstream.sockets.at(-1)).not.toBe(upstream.sockets.at(-2));
    expect(upstream.requests.at(-1)?.toLowerCase()).not.toContain('connection: close');
  });

  it('shows the value that a credential had before, neither at once nor after SIGHUP', async () => {
    const echo = `${FIRST_SECRET} ${SECOND_SECRET}`;
    upstream.answers = [respond(`HTTP/1.1 200 OK\r\nContent-Length: ${echo.length}\r\n\r\n${echo}`)];
    writeFileSync(secretFile, SECOND_SECRET);
    gateway.process.kill('SIGHUP');
    await until('the new value is sent', async () => {
      await gateway.call('/vendor/echo/1');
      return upstream.requests.at(-1)?.includes(SECOND_SECRET) === true;
    });
    gateway.process.kill('SIGHUP');
    const { text } = await gateway.call('/vendor/echo/2');
    expect(text).toBe('[credential] [credential]');
    upstream.answers = [respond('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')];
  });

  it('ends an announced answer that trickles once its client has left', async () => {
    upstream.answers = [respond('HTTP/1.1 200 OK\r\nContent-Length: 60000\r\n\r\na')];
    const departure = new AbortController();
    const before = upstream.requests.length;
    const call = gateway.call('/vendor/trickle/1', { signal: departure.signal }).catch(() => null);
    await upstream.received(before + 1);
    departure.abort();
    await call;
    await until('the connection to the upstream is closed', () => upstream.sockets.at(-1)?.closed === true);
    upstream.answers = [respond('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')];
  });
});
