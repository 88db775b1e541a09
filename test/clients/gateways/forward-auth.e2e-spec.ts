import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { chainIsValid, createAgent, createPolicy, issueKey } from '../../support/application/factories';
import { send } from '../../support/application/send';
import { exchange, type WireAnswer } from '../../support/application/wire';
import { type Gateway, GATEWAYS, isInstalled, startGateway } from './gateway';

const HOST = 'https://api.example.com';

/** A request that the upstream got. */
interface Served {
  readonly method: string;
  readonly target: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** All that the upstream is sent: what gateways set themselves, and the list of docs/forward-auth.md. */
const GATEWAYS_OWN = [
  ...['host', 'connection', 'content-length', 'x-forwarded-for', 'x-forwarded-proto', 'x-forwarded-host'],
];
const PASSED = [
  ...['accept', 'accept-encoding', 'accept-language', 'authorization', 'content-encoding', 'content-type', 'cookie'],
  ...['idempotency-key', 'if-match', 'if-modified-since', 'if-none-match', 'if-unmodified-since', 'prefer', 'range'],
  ...['traceparent', 'tracestate', 'user-agent'],
];
/** Headers by which a client could name another request, or another client, to some upstreams. */
const MISLEADING = [
  ...[
    'X-HTTP-Method',
    'X-Method-Override',
    'X-Original-URI',
    'X-Original-Host',
    'X-Forwarded-Prefix',
    'X-Forwarded-Path',
  ],
  ...[
    'Forwarded',
    'X-Script-Name',
    'SCRIPT_NAME',
    'X_Original_URL',
    'X-Host',
    'X-Real-IP',
    'X-Other',
    'Proxy',
    'Transfer',
  ],
];

function unlisted(headers: IncomingMessage['headers']): string[] {
  return Object.keys(headers).filter((name) => ![...GATEWAYS_OWN, ...PASSED].includes(name));
}

const TARGETS = [
  ...['/v1/a', '/v1/a/', '/v1/a?x=%2F..%2F', '/v1/a?record=writes', '/v1/a%20b', '/v1/-', '/v1/A', '/'],
  ...['//v1/secret', '/v1//secret', '/v1/x/../secret', '/v1/./secret', '/v1/%2e/secret', '/v1/%73ecret', '/v1%2fsecret', '/v1/secret/'],
  ...['/v1/secret;x', '/v1/secret%3b', '/v1/a%2f..%2fsecret', '/v1/a/..%2fsecret', '/v1/a/%2e%2e/secret', '/v1\\secret', '/v1/a\\..\\secret'],
  ...['/v1/secret%00', '/v1/secret%20', '/v1/secret#', '/v1/secret?', '/v1/secret%23', '/v1/secret%3f', '/v1/%ff', '/v1/caf\u00e9'],
  ...['http://api.example.com/v1/secret', 'http://evil.example/v1/secret', 'http://evil.example', 'HTTPS://api.example.com:443/v1/a', '*', 'v1/a'],
  ...['@evil.example/v1/a', '/governance-forward-auth', '/forward-auth?record=writes', '/..', '/../v1/secret', `/v1/${'a'.repeat(600)}`],
]; // prettier-ignore

describe.each(GATEWAYS)('$name, as docs/forward-auth.md has it', (program) => {
  if (!isInstalled(program)) {
    it.skip(`(skipped: needs ${program.name})`, () => undefined);
    return;
  }
  let app: TestApp;
  let key: string;
  let ann: string;
  let gateway: Gateway;
  let served: Served[] = [];
  const upstream = createServer((request, response) => {
    const { method = '', url: target = '', headers } = request;
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => (body += text));
    request.on('end', () => {
      served.push({ method, target, headers, body });
      response.end('served');
    });
  });

  const upgraded: Pick<IncomingMessage, 'url' | 'headers'>[] = [];
  upstream.on('upgrade', ({ url, headers }: IncomingMessage, socket: Socket) => {
    upgraded.push({ ...(url !== undefined && { url }), headers });
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
    socket.pipe(socket);
    socket.on('error', () => socket.destroy());
  });

  beforeAll(async () => {
    app = await createTestApp({ environment: { TRUST_PROXY: '127.0.0.0/8', RATE_LIMIT: '1000000' } });
    const { id: agentId } = await createAgent(app, { name: 'bot', capabilities: ['http.*'] });
    ann = (await createAgent(app, { name: 'ann', kind: 'human' })).id;
    key = (await issueKey(app, { scopes: ['execute'], agentId })).secret;
    await createPolicy(app, { name: 'api', resources: [`${HOST}/*`] });
    const secret = [`${HOST}/v1/secret`, `${HOST}/v1/secret/*`];
    await createPolicy(app, { name: 'secret', effect: 'deny', resources: secret, priority: 1 });
    const paid = { actions: ['http.post'], resources: [`${HOST}/v1/payments`], priority: 1 };
    await createPolicy(app, { effect: 'require_approval', ...paid });
    upstream.listen(0, '127.0.0.1');
    await once(upstream, 'listening');
    const { port } = upstream.address() as AddressInfo;
    gateway = await startGateway(program, { governance: new URL(app.url).host, upstream: `127.0.0.1:${port}` });
  });
  beforeEach(() => (served = []));
  afterAll(async () => {
    await gateway.stop();
    upstream.close();
    await chainIsValid(app);
    await app.close();
  });

  /** Sends a request as it is. */
  async function through(line: string, headers: readonly string[] = [], body = '', ofAgent = key): Promise<WireAnswer> {
    const length = body === '' ? [] : [`Content-Length: ${body.length}`];
    const head = [line, 'Host: api.example.com', 'Connection: close', `X-API-Key: ${ofAgent}`, ...length, ...headers];
    const request = Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`);
    const [answer] = await exchange({ url: `http://127.0.0.1:${gateway.port}` }, request);
    if (answer === undefined) throw new Error('The connection ended without an answer.');
    return answer;
  }

  async function newestExecution(): Promise<Record<string, unknown>> {
    return (await send(app, 'GET', '/api/v1/executions?order=desc&limit=1')).body.data[0];
  }

  it('passes on what is allowed, with its own Authorization and none of our headers', async () => {
    const headers = ['Authorization: Bearer of-the-upstream', 'If-Match: "1"', 'X-Other: 1'];
    expect(await through('PUT /v1/a/?b=%2F HTTP/1.1', headers, 'a body')).toMatchObject({ status: 200 });
    expect(served).toMatchObject([{ method: 'PUT', target: '/v1/a/?b=%2F', body: 'a body' }]);
    const forwardedHeaders = served[0]?.headers ?? {};
    expect(forwardedHeaders).toMatchObject({
      host: 'api.example.com',
      authorization: 'Bearer of-the-upstream',
      'if-match': '"1"',
    });
    expect([unlisted(forwardedHeaders), forwardedHeaders['content-encoding'], forwardedHeaders.range]).toEqual([
      [],
      undefined,
      undefined,
    ]);
    expect(await newestExecution()).toMatchObject({
      ...{ agentName: 'bot', action: 'http.put', resourceId: `${HOST}/v1/a/-`, parameters: { query: 'b=%2F' } },
      outcome: 'authorized',
    });
  });

  it('refuses a key in Authorization, which the upstream would see', async () => {
    const { port } = gateway;
    const response = await fetch(`http://127.0.0.1:${port}/v1/a`, { headers: { Authorization: `Bearer ${key}` } });
    expect([response.status, served]).toEqual([401, []]);
  });

  it('passes on nothing else, and says why', async () => {
    const denied = await through('GET /v1/secret/1 HTTP/1.1');
    expect([denied.status, denied.headers.get('x-reason')]).toEqual([403, 'policy_denied']);
    for (const wrong of ['', 'wrong']) expect((await through('GET /v1/a HTTP/1.1', [], '', wrong)).status).toBe(401);
    expect(served).toEqual([]);
  });

  it.each(TARGETS)('serves %j only if that is what was asked about', async (target) => {
    const { status } = await through(`GET ${target} HTTP/1.1`);
    if (status !== 200) {
      expect(served).toEqual([]);
      return;
    }
    const got = served[0]?.target ?? '';
    const [path = '', query] = got.split('?');
    const resourceId = `${HOST}${path}${path.endsWith('/') ? '-' : ''}`;
    const parameters = query === undefined ? {} : { query };
    expect(await newestExecution()).toMatchObject({ outcome: 'authorized', resourceId, parameters });
    expect(decodeURIComponent(path)).not.toMatch(/secret|\.\.|\/\//);
    // What is not ASCII, Caddy encodes before it asks.
    expect(decodeURIComponent(target)).toContain(decodeURIComponent(got));
  });

  it('is not misled by the headers of its clients', async () => {
    const other = { method: 'GET', url: `${HOST}/v1/a`, uri: '/v1/a', host: 'evil.example' };
    const lies = [
      ...[`X-Original-Method: ${other.method}`, `X-Original-URL: ${other.url}`, `X-Rewrite-URL: ${other.uri}`],
      ...[`X-Forwarded-Method: ${other.method}`, `X-Forwarded-Uri: ${other.uri}`, `X-Forwarded-Host: ${other.host}`],
      ...MISLEADING.map((name) => `${name}: ${other.uri}`),
      ...['X-Forwarded-Proto: http', 'X-HTTP-Method-Override: DELETE', 'X-Forwarded-For: 198.51.100.7'],
    ];
    for (const lie of [...lies.map((line) => [line]), lies]) {
      served = [];
      expect((await through('POST /v1/secret HTTP/1.1', lie, 'x')).status).toBe(403);
      expect(served).toEqual([]);
      expect((await through('POST /v1/b HTTP/1.1', lie, 'x')).status).toBe(200);
      expect(await newestExecution()).toMatchObject({ action: 'http.post', resourceId: `${HOST}/v1/b` });
      expect(served).toMatchObject([{ method: 'POST', target: '/v1/b', body: 'x' }]);
      const { headers = {} } = served[0] ?? {};
      expect([unlisted(headers), headers.host]).toEqual([[], 'api.example.com']);
      expect([undefined, 'api.example.com']).toContain(headers['x-forwarded-host']);
      expect(String(headers['x-forwarded-for'])).not.toContain('198.51.100.7');
    }
    const dropped = 'X-API-Key, X-Original-URL, X-Original-Method, X-Forwarded-Uri, X-Forwarded-Method';
    await through('GET /v1/secret HTTP/1.1', [`Connection: ${dropped}`]);
    expect(served.slice(1)).toEqual([]);
  });

  it('passes on each header of the list', async () => {
    await through('GET /v1/a HTTP/1.1', [...PASSED.map((name) => `${name}: "${name}"`)]);
    for (const name of PASSED) expect(served[0]?.headers).toHaveProperty([name], `"${name}"`);
  });

  it('opens a WebSocket that is allowed, and no other', async () => {
    const key64 = Buffer.alloc(16).toString('base64');
    const handshake = [
      ...['Host: api.example.com', `X-API-Key: ${key}`, 'X-Other: 1', 'Connection: Upgrade', 'Upgrade: websocket'],
      ...['Sec-WebSocket-Version: 13', `Sec-WebSocket-Key: ${key64}`, 'Sec-WebSocket-Protocol: chat'],
    ];
    const open = async (target: string): Promise<string> => {
      const socket = connect(gateway.port, '127.0.0.1');
      socket.write(`GET ${target} HTTP/1.1\r\n${handshake.join('\r\n')}\r\n\r\n`);
      let received = '';
      for await (const text of socket.setEncoding('latin1') as AsyncIterable<string>) {
        received += text;
        if (received.endsWith('echo')) break;
        if (/^HTTP\/1\.1 101 [^]*\r\n\r\n$/.test(received)) socket.write('echo');
        else if (!received.startsWith('HTTP/1.1 101 ')) break;
      }
      socket.destroy();
      return received;
    };
    expect(await open('/v1/secret/socket')).toMatch(/^HTTP\/1\.1 403 /);
    expect([served, upgraded]).toEqual([[], []]);
    expect(await open('/v1/socket')).toMatch(/^HTTP\/1\.1 101 [^]*\r\n\r\necho$/);
    expect(upgraded).toMatchObject([
      { url: '/v1/socket', headers: { 'sec-websocket-key': key64, 'sec-websocket-protocol': 'chat' } },
    ]);
    expect(upgraded[0]?.headers).not.toHaveProperty('x-other');
    expect(await newestExecution()).toMatchObject({ action: 'http.get', resourceId: `${HOST}/v1/socket` });
  });

  it('lets what was approved pass once, the body included', async () => {
    const pay = (): Promise<WireAnswer> => through('POST /v1/payments HTTP/1.1', [], '{"amount":80}');
    const waiting = await pay();
    expect([waiting.status, waiting.headers.get('x-reason')]).toEqual([403, 'approval_required']);
    const decision = `/api/v1/decisions/${String(waiting.headers.get('x-decision-id'))}`;
    expect((await send(app, 'POST', `${decision}/approve`, { body: { approverId: ann } })).status).toBe(200);
    expect([(await pay()).status, (await pay()).status]).toEqual([200, 403]);
    expect(served).toMatchObject([{ method: 'POST', target: '/v1/payments', body: '{"amount":80}' }]);
  });
});
