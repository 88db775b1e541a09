import { connect } from 'node:net';
import { sendRaw } from '../../support/application/send';
import { type GatewayStage, openStage, route, type StartedGateway, startGateway, VENDOR_CREDENTIAL } from './stage';
import { sendJson, type StandIn, startStandIn } from './stand-in';

/** Bytes as they stand, with `\r\n` after each line. */
function lines(...texts: readonly string[]): string {
  return texts.map((text) => `${text}\r\n`).join('');
}

describe('The bytes of a request', () => {
  let stage: GatewayStage;
  let upstream: StandIn;
  let gateway: StartedGateway;
  let host: string;

  beforeAll(async () => {
    stage = await openStage();
    upstream = await startStandIn((_, response) => sendJson(response, { done: true }));
    const routes = [
      route('POST,GET /:kind/:id', 'write'),
      route('POST /:kind', 'write'),
      { match: 'GET /', action: 'write', resource: { type: 'api', id: 'root' } },
    ];
    const vendor = { url: upstream.url, credentials: [VENDOR_CREDENTIAL], headers: ['X-Listed'], routes };
    gateway = await startGateway(stage, { vendor });
    host = new URL(gateway.url).host;
  });
  afterAll(async () => {
    expect(await gateway.stop()).toBe(0);
    await upstream.close();
    await stage.close();
  });

  /** Sends bytes, and returns the status of each response with its reason. */
  async function answers(bytes: string | Buffer): Promise<string[]> {
    const text = await sendRaw(gateway, bytes);
    return text
      .split(/(?=HTTP\/1\.1 \d{3} )/)
      .map((answer) =>
        [/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1], /"reason":"(\w+)"/.exec(answer)?.[1]].join(' ').trim(),
      );
  }

  /** The head of a POST with these lines, which closes its connection. */
  const post = (...headers: readonly string[]): string =>
    lines('POST /vendor/a/b HTTP/1.1', `Host: ${host}`, `X-API-Key: ${stage.key}`, 'Connection: close', ...headers);
  const get = (target: string, ...headers: readonly string[]): string =>
    lines(`GET ${target} HTTP/1.1`, `Host: ${host}`, `X-API-Key: ${stage.key}`, 'Connection: close', ...headers, '');

  const JSON_TYPE = 'Content-Type: application/json';

  it('are passed on where they are in order', async () => {
    const before = upstream.received.length;
    expect(await answers(post(JSON_TYPE, 'Content-Length: 2', '') + '{}')).toEqual(['200']);
    expect(await answers(post(JSON_TYPE, 'Transfer-Encoding: chunked', '') + '2\r\n{}\r\n0\r\n\r\n')).toEqual(['200']);
    const [first, second] = upstream.received.slice(before);
    for (const { headers, body } of [first, second].flatMap((request) => request ?? [])) {
      expect(body).toBe('{}');
      expect(headers['content-length']).toBe('2');
      expect(headers['transfer-encoding']).toBeUndefined();
    }
  });

  const SMUGGLED = 'GET /vendor/smuggled/1 HTTP/1.1\r\nHost: x\r\n\r\n';
  const FRAMING: readonly (readonly [string, () => string])[] = [
    ['both lengths', () => post(JSON_TYPE, 'Content-Length: 2', 'Transfer-Encoding: chunked', '') + '0\r\n\r\n'],
    ['both, the other way round', () => post('Transfer-Encoding: chunked', 'Content-Length: 5', '') + '0\r\n\r\n'],
    ['two lengths', () => post(JSON_TYPE, 'Content-Length: 2', 'Content-Length: 3', '') + '{}x'],
    ['two equal lengths', () => post(JSON_TYPE, 'Content-Length: 2', 'Content-Length: 2', '') + '{}'],
    ['a list of lengths', () => post(JSON_TYPE, 'Content-Length: 2, 2', '') + '{}'],
    ['a length with a sign', () => post(JSON_TYPE, 'Content-Length: +2', '') + '{}'],
    ['a negative length', () => post(JSON_TYPE, 'Content-Length: -2', '') + '{}'],
    ['a length in hex', () => post(JSON_TYPE, 'Content-Length: 0x2', '') + '{}'],
    ['a blank before the colon', () => post(JSON_TYPE, 'Content-Length : 2', '') + '{}'],
    ['another transfer coding', () => post('Transfer-Encoding: gzip, chunked', '') + '0\r\n\r\n'],
    ['chunked twice', () => post('Transfer-Encoding: chunked, chunked', '') + '0\r\n\r\n'],
    ['chunked not last', () => post('Transfer-Encoding: chunked, identity', '') + '0\r\n\r\n'],
    ['chunked with a tab', () => post('Transfer-Encoding:\tchunkedx', '') + '0\r\n\r\n'],
    ['two headers of it', () => post('Transfer-Encoding: chunked', 'Transfer-Encoding: chunked', '') + '0\r\n\r\n'],
    ['an unreadable chunk size', () => post(JSON_TYPE, 'Transfer-Encoding: chunked', '') + 'x\r\n{}\r\n0\r\n\r\n'],
    ['a chunk size with a sign', () => post(JSON_TYPE, 'Transfer-Encoding: chunked', '') + '+2\r\n{}\r\n0\r\n\r\n'],
    ['a chunk longer than its size', () => post(JSON_TYPE, 'Transfer-Encoding: chunked', '') + '1\r\n{}\r\n0\r\n\r\n'],
    ['a huge chunk size', () => post('Transfer-Encoding: chunked', '') + 'fffffffffffffffff\r\n{}\r\n0\r\n\r\n'],
    ['a chunk that ends with a bare LF', () => post('Transfer-Encoding: chunked', '') + '2\n{}\n0\n\n'],
    ['a folded header line', () => post(JSON_TYPE, 'X-Listed: a', ' b', 'Content-Length: 2', '') + '{}'],
    ['a bare LF', () => post(JSON_TYPE, 'Content-Length: 2', '').replace('\r\nConnection', '\nConnection') + '{}'],
    ['a bare CR', () => post(JSON_TYPE, 'X-Listed: a\rContent-Length: 9', 'Content-Length: 2', '') + '{}'],
    ['a NUL in a header', () => post(JSON_TYPE, 'X-Listed: a\0b', 'Content-Length: 2', '') + '{}'],
    ['no name of a header', () => post(JSON_TYPE, ': a', 'Content-Length: 2', '') + '{}'],
    ['no Host', () => lines('GET /vendor/a/b HTTP/1.1', 'Connection: close', '')],
    ['two hosts', () => get('/vendor/a/b', 'Host: other')],
    ['two equal hosts', () => get('/vendor/a/b', `Host: ${host}`)],
    ['a host with a path', () => get('/vendor/a/b').replace(`Host: ${host}`, `Host: ${host}/vendor`)],
    ['a host with a user', () => get('/vendor/a/b').replace(`Host: ${host}`, `Host: me@${host}`)],
    ['a method in lower case', () => get('/vendor/a/b').replace('GET', 'get')],
    ['an unknown method', () => get('/vendor/a/b').replace('GET', 'FETCH')],
    ['a preface of HTTP/2', () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['HTTP/0.9', () => 'GET /vendor/a/b\r\n\r\n'],
    ['HTTP/2.0', () => get('/vendor/a/b').replace('HTTP/1.1', 'HTTP/2.0')],
    ['a blank in the target', () => get('/vendor/a /b')],
    ['a tunnel', () => lines(`CONNECT ${host} HTTP/1.1`, `Host: ${host}`, '')],
  ];

  it.each(FRAMING)('are 400 and end the connection with %s', async (_, bytes) => {
    const before = upstream.received.length;
    const [first, ...others] = await answers(bytes() + SMUGGLED);
    expect(first).toMatch(/^400/);
    expect(others).toEqual([]);
    expect(upstream.received).toHaveLength(before);
  });

  it('are 400 with Transfer-Encoding in HTTP/1.0', async () => {
    const head = post(JSON_TYPE, 'Transfer-Encoding: chunked', '').replace('HTTP/1.1', 'HTTP/1.0');
    expect((await answers(`${head}2\r\n{}\r\n0\r\n\r\n`))[0]).toMatch(/^400/);
  });

  const TARGETS: readonly (readonly [string, string])[] = [
    ['http://127.0.0.1/vendor/a/b', '400 path_ambiguous'],
    ['//vendor/a/b', '404 upstream_unknown'],
    ['/vendor/a/../b', '400 path_ambiguous'],
    ['/vendor/./b', '400 path_ambiguous'],
    ['/vendor/a//b', '400 path_ambiguous'],
    ['/vendor/a/%2e%2e', '400 path_ambiguous'],
    ['/vendor/a/%2E', '400 path_ambiguous'],
    ['/vendor/a%2Fb/c', '400 path_ambiguous'],
    ['/vendor/a%5cb/c', '400 path_ambiguous'],
    ['/vendor/a/b%00', '400 path_ambiguous'],
    ['/vendor/a/b%u002e', '400 path_ambiguous'],
    // A `%` that encodes nothing is an ordinary character.
    ['/vendor/a/b%zz', '200'],
    ['/vendor/a/%ff', '400 path_ambiguous'],
    ['/vendor/a/b;c', '400 path_ambiguous'],
    ['/vendor/a/b#c', '400 path_ambiguous'],
    ['/vendor/a/b\\c', '400 path_ambiguous'],
    ['/vendor/a/%252e%252e', '400 path_ambiguous'],
    ['/%76endor/a/b', '404 upstream_unknown'],
    ['/vendor/a/b/c/d', '403 route_not_listed'],
    ['/vendor', '200'],
    ['/', '404 upstream_unknown'],
  ];

  it.each(TARGETS)('with the target %s are %s', async (target, expected) => {
    const before = upstream.received.length;
    expect(await answers(get(target))).toEqual([expected]);
    expect(upstream.received).toHaveLength(before + (expected === '200' ? 1 : 0));
  });

  it('are no request for everything', async () => {
    const head = lines('OPTIONS * HTTP/1.1', `Host: ${host}`, `X-API-Key: ${stage.key}`, 'Connection: close', '');
    expect((await answers(head))[0]).toMatch(/^40[04]/);
  });

  const HEADERS: readonly (readonly [string, readonly string[], string])[] = [
    ['a name with _', ['X_Listed: a'], '400 header_ambiguous'],
    ['a listed header twice', ['X-Listed: a', 'X-Listed: b'], '400 header_ambiguous'],
    ['two equal keys', ['Authorization: Bearer THE-KEY'], '401'],
    ['an empty run', ['Governance-Run: '], '400 header_ambiguous'],
    ['two idempotency keys', ['Idempotency-Key: a', 'Idempotency-Key: b'], '400 header_ambiguous'],
    ['another origin', ['Origin: https://evil.example'], '403 origin_unknown'],
    ['the origin null', ['Origin: null'], '403 origin_unknown'],
  ];

  it.each(HEADERS)('with %s are %s', async (_, headers, expected) => {
    const requestHeaders = headers.map((header) => header.replace('THE-KEY', stage.key));
    expect(await answers(get('/vendor/a/b', ...requestHeaders))).toEqual([expected]);
  });

  it('go on without what is of one hop, or not listed', async () => {
    const before = upstream.received.length;
    const headers = [
      ...['X-Listed: kept', 'Cookie: a=b', 'Range: bytes=0-1', 'X-Other: a', 'X-Forwarded-For: 1.2.3.4'],
      ...['Keep-Alive: timeout=5', 'Upgrade: websocket', 'TE: trailers', 'Forwarded: for=1.2.3.4'],
    ];
    const bytes = get('/vendor/a/b', ...headers).replace('Connection: close', 'Connection: close, Upgrade, X-Listed');
    expect(await answers(bytes)).toEqual(['200']);
    const { host: _host, connection: _connection, ...rest } = { ...upstream.received[before]?.headers };
    expect(rest).toEqual({
      'x-listed': 'kept',
      accept: '*/*',
      'accept-encoding': 'identity',
      'user-agent': expect.stringMatching(/^gov-gateway\//),
      authorization: expect.stringMatching(/^Bearer sk-/),
    });
  });

  it('are refused for TRACE, as for every method without a route', async () => {
    expect(await answers(get('/vendor/a/b').replace('GET', 'TRACE'))).toEqual(['403 route_not_listed']);
    expect(await answers(get('/vendor/a/b').replace('GET', 'DELETE'))).toEqual(['403 route_not_listed']);
  });

  it('go on without trailers', async () => {
    const before = upstream.received.length;
    const head = post(JSON_TYPE, 'Trailer: X-Listed', 'Transfer-Encoding: chunked', '');
    expect(await answers(`${head}2\r\n{}\r\n0\r\nX-Listed: late\r\n\r\n`)).toEqual(['200']);
    expect(upstream.received[before]?.headers['x-listed']).toBeUndefined();
  });

  it('are asked for only once the caller and the route are known', async () => {
    const response = await sendRaw(gateway, post(JSON_TYPE, 'Expect: 100-continue', 'Content-Length: 2', '') + '{}');
    expect(response).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 /);
    const head = post(JSON_TYPE, 'Expect: 100-continue', 'Content-Length: 2', '').replace('/a/b', '/a/b/c');
    expect(await sendRaw(gateway, `${head}{}`)).toMatch(/^HTTP\/1\.1 403 /);
    const wrong = post(JSON_TYPE, 'Expect: 100-continue', 'Content-Length: 2', '').replace(stage.key, 'agk_wrong');
    expect(await sendRaw(gateway, `${wrong}{}`)).toMatch(/^HTTP\/1\.1 401 /);
  });

  it('are 413 by their announced length, with nothing read', async () => {
    expect(await answers(post(JSON_TYPE, `Content-Length: ${2 ** 20 + 1}`, ''))).toEqual(['413 body_too_large']);
  });

  it('are 431 with a head of more than 64 KiB', async () => {
    expect((await answers(get('/vendor/a/b', `X-Other: ${'a'.repeat(60_000)}`)))[0]).toBe('200');
    expect((await answers(get('/vendor/a/b', `X-Other: ${'a'.repeat(70_000)}`)))[0]).toBe('431');
  });

  it('end the connection of a head that does not come', async () => {
    const text = await new Promise<string>((resolve) => {
      const { hostname, port } = new URL(gateway.url);
      let received = '';
      const socket = connect(Number(port), hostname, () => socket.write('GET /vendor/a/b HTTP/1.1\r\nHost: '));
      socket.setEncoding('utf8').on('data', (chunk: string) => (received += chunk));
      socket.on('close', () => resolve(received));
    });
    expect(text).toMatch(/^HTTP\/1\.1 408 /);
  });

  it('are 408 where a body comes too slowly', async () => {
    expect(await answers(post(JSON_TYPE, 'Content-Length: 20', '') + '{')).toEqual(['408']);
  });
});
