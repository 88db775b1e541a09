import { API_KEY } from '../support/application/api-key';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { chainIsValid } from '../support/application/factories';
import {
  exchange,
  expectRefusal,
  type ExpectedAnswer,
  invalid,
  statistics,
  summaryOf,
  wire,
} from '../support/application/wire';

const PATH = '/api/v1/entities';
const BODY = '{"type":"a","name":"b"}';
const SIZE = BODY.length.toString(16);
const CHUNKS = `${SIZE}\r\n${BODY}\r\n0\r\n\r\n`;
const JSON_TYPE = 'Content-Type: application/json';
const LENGTH = `Content-Length: ${BODY.length}`;
const CHUNKED = 'Transfer-Encoding: chunked';
/** A text that another parser might take for a separate request. */
const SMUGGLED = `DELETE ${PATH}/x HTTP/1.1\r\nHost: x\r\nX-API-Key: ${API_KEY}\r\n\r\n`;

const NO_HTTP = invalid('request');
const NO_CLEAR_END = invalid('header.Transfer-Encoding');
const CUT = invalid('body');

const upload = (headers: readonly string[], body: string, version = 'HTTP/1.1'): Buffer =>
  wire(`POST ${PATH} ${version}`, [JSON_TYPE, ...headers], body);
const chunked = (chunks: string): Buffer => upload([CHUNKED], chunks);
const get = (version: string, ...headers: string[]): Buffer => wire(`GET /api/v1/stats ${version}`, headers);
const withHost = (...lines: string[]): Buffer => {
  const head = ['GET /api/v1/stats HTTP/1.1', ...lines, `X-API-Key: ${API_KEY}`, 'Connection: close'];
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n`, 'latin1');
};

describe('A request with ambiguous framing is refused and changes nothing', () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await createTestApp();
  });
  afterAll(async () => {
    await chainIsValid(app);
    await app.close();
  });

  it.each<[string, Buffer, ExpectedAnswer]>([
    ['a length, and chunks', upload([LENGTH, CHUNKED], CHUNKS), NO_HTTP],
    ['chunks, and a length', upload([CHUNKED, 'Content-Length: 4'], CHUNKS), NO_HTTP],
    ['a length of 0, and chunks', upload(['Content-Length: 0', CHUNKED], CHUNKS), NO_HTTP],
    ['two encodings', upload([CHUNKED, 'Transfer-Encoding: identity'], CHUNKS), NO_HTTP],
    ['chunked twice', upload([CHUNKED, CHUNKED], CHUNKS), NO_HTTP],
    ['chunked, chunked', upload(['Transfer-Encoding: chunked, chunked'], CHUNKS), NO_HTTP],
    ['chunked, identity', upload(['Transfer-Encoding: chunked, identity'], CHUNKS), NO_HTTP],
    ['identity', upload(['Transfer-Encoding: identity'], CHUNKS), NO_CLEAR_END],
    ['xchunked', upload(['Transfer-Encoding: xchunked'], CHUNKS), NO_CLEAR_END],
    ['"chunked"', upload(['Transfer-Encoding: "chunked"'], CHUNKS), NO_CLEAR_END],
    ['chunked with a parameter', upload(['Transfer-Encoding: chunked;x=1'], CHUNKS), NO_CLEAR_END],
    ['gzip', upload(['Transfer-Encoding: gzip'], CHUNKS), NO_CLEAR_END],
    ['gzip, chunked', upload(['Transfer-Encoding: gzip, chunked'], CHUNKS), NO_CLEAR_END],
    ['identity, chunked', upload(['Transfer-Encoding: identity, chunked'], CHUNKS), NO_CLEAR_END],
    ['chunks in HTTP/1.0', upload([CHUNKED], CHUNKS, 'HTTP/1.0'), NO_CLEAR_END],
    ['white space before the colon', upload(['Transfer-Encoding : chunked'], CHUNKS), NO_HTTP],
    ['a folded encoding', upload(['Transfer-Encoding:\r\n chunked'], CHUNKS), NO_HTTP],
    ['two equal lengths', upload([LENGTH, LENGTH], BODY), NO_HTTP],
    ['two lengths', upload([LENGTH, 'Content-Length: 3'], BODY), NO_HTTP],
    ['two lengths in one', upload(['Content-Length: 23,23'], BODY), NO_HTTP],
    ['a signed length', upload(['Content-Length: +23'], BODY), NO_HTTP],
    ['a negative length', upload(['Content-Length: -1'], BODY), NO_HTTP],
    ['a hexadecimal length', upload(['Content-Length: 0x17'], BODY), NO_HTTP],
    ['a length with an exponent', upload(['Content-Length: 2e1'], BODY), NO_HTTP],
    ['a length beyond 2^64', upload([`Content-Length: ${'9'.repeat(25)}`], BODY), NO_HTTP],
    ['an empty length', upload(['Content-Length: '], BODY), NO_HTTP],
    ['a length of 0 before a body', upload(['Content-Length: 0'], BODY), invalid('name', 'type')],
    ['a length that is too short', upload(['Content-Length: 22'], BODY), CUT],
    ['a chunk without a size', chunked(`zz\r\n${BODY}\r\n0\r\n\r\n`), CUT],
    ['a chunk of negative size', chunked(`-1\r\n${BODY}\r\n0\r\n\r\n`), CUT],
    ['a chunk of huge size', chunked(`${'f'.repeat(20)}\r\n${BODY}\r\n0\r\n\r\n`), CUT],
    ['a chunk shorter than it says', chunked(`${(BODY.length - 1).toString(16)}\r\n${BODY}\r\n0\r\n\r\n`), CUT],
    ['a chunk that ends with a bare LF', chunked(`${SIZE}\n${BODY}\r\n0\r\n\r\n`), CUT],
    ['a chunk with a huge extension', chunked(`${SIZE};x=${'y'.repeat(20_000)}\r\n${BODY}\r\n0\r\n\r\n`), CUT],
    ['a trailer that is a length', chunked(`${SIZE}\r\n${BODY}\r\n0\r\nContent-Length: 5\r\n\r\n`), CUT],
    ['chunks with another Upgrade', upload([CHUNKED, 'Upgrade: h2c', 'Transfer-Encoding: x'], CHUNKS), NO_HTTP],
    ['folded headers', get('HTTP/1.1', 'X-A: b\r\n c'), NO_HTTP],
    ['a bare LF between headers', get('HTTP/1.1', 'X-A: b\nX-B: c'), NO_HTTP],
    ['a bare CR between headers', get('HTTP/1.1', 'X-A: b\rX-B: c'), NO_HTTP],
    ['a NUL in a header', get('HTTP/1.1', 'X-A: a\0b'), NO_HTTP],
    ['a control character in a header', get('HTTP/1.1', 'X-A: a\x01b'), NO_HTTP],
    ['a header name with a space', get('HTTP/1.1', 'X A: b'), NO_HTTP],
    ['a header without a name', get('HTTP/1.1', ': b'), NO_HTTP],
    ['a header name beyond ASCII', get('HTTP/1.1', 'X-\xe9: b'), NO_HTTP],
    ['HTTP/0.9', get('HTTP/0.9'), NO_HTTP],
    ['HTTP/1.2', get('HTTP/1.2'), NO_HTTP],
    ['HTTP/2.0', get('HTTP/2.0'), NO_HTTP],
    ['http/1.1', get('http/1.1'), NO_HTTP],
    ['no version', get(''), NO_HTTP],
    ['the preface of HTTP/2', Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), NO_HTTP],
    ['a TLS handshake', Buffer.from('\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03', 'latin1'), NO_HTTP],
    ['no Host', withHost(), invalid('header.Host')],
    ['two Hosts', withHost('Host: x', 'Host: y'), invalid('header.Host')],
    ['two equal Hosts', withHost('Host: x', 'hOST: x'), invalid('header.Host')],
    ['a Host with a path', withHost('Host: x/y'), invalid('header.Host')],
    ['a Host with a user', withHost('Host: u@x'), invalid('header.Host')],
    ['a Host with a space', withHost('Host: x y'), invalid('header.Host')],
    ['a list of Hosts', withHost('Host: x, y'), invalid('header.Host')],
    ['a Host with a port that is none', withHost('Host: x:http'), invalid('header.Host')],
    ['a tunnel', wire('CONNECT example.org:443 HTTP/1.1'), NO_HTTP],
    [
      'headers beyond 16 KiB',
      get('HTTP/1.1', `X-A: ${'a'.repeat(17_000)}`),
      { status: 431, code: 'HEADERS_TOO_LARGE' },
    ],
    ['a key in a trailer', chunkedWithoutKey(), { status: 401, code: 'UNAUTHORIZED' }],
  ])('%s', async (_what, request, expected) => {
    const answer = await expectRefusal(app, request, expected);
    expect(answer.headers.get('connection')).toBe('close');
  });

  function chunkedWithoutKey(): Buffer {
    const head = [`POST ${PATH} HTTP/1.1`, 'Host: x', JSON_TYPE, CHUNKED, 'Trailer: X-API-Key'];
    return Buffer.from(`${head.join('\r\n')}\r\n\r\n${SIZE}\r\n${BODY}\r\n0\r\nX-API-Key: ${API_KEY}\r\n\r\n`);
  }

  it.each<[string, Buffer, number]>([
    ['white space around the encoding', upload(['Transfer-Encoding:   chunked  '], CHUNKS), 201],
    ['the encoding in capitals', upload(['TRANSFER-ENCODING: CHUNKED'], CHUNKS), 201],
    ['a chunk with an extension', chunked(`${SIZE};a="b"\r\n${BODY}\r\n0\r\n\r\n`), 201],
    ['a trailer nobody knows', chunked(`${SIZE}\r\n${BODY}\r\n0\r\nX-Sum: 1\r\n\r\n`), 201],
    ['a length with leading zeros', upload(['Content-Length: 0023'], BODY), 201],
    ['an empty Host', withHost('Host:'), 200],
    ['an IPv6 Host', withHost('Host: [2001:db8::1]:3000'), 200],
    ['a header in Latin-1', get('HTTP/1.1', 'X-A: caf\xe9'), 200],
    ['an expectation nobody knows', get('HTTP/1.1', 'Expect: the-impossible'), 200],
    ['an upgrade nobody offers', get('HTTP/1.1', 'Upgrade: websocket'), 200],
    ['another method in a header', get('HTTP/1.1', 'X-HTTP-Method-Override: DELETE'), 200],
    ['another path in a header', get('HTTP/1.1', 'X-Original-URL: /api/v1/audit', 'X-Rewrite-URL: /x'), 200],
    ['HTTP/1.0 with a Host', get('HTTP/1.0'), 200],
    ['empty lines before it', Buffer.concat([Buffer.from('\r\n\r\n'), get('HTTP/1.1')]), 200],
  ])('but not for %s', async (_what, request, status) => {
    expect((await exchange(app, request)).map(summaryOf)).toEqual([{ status }]);
  });

  it('what follows an unread body is not taken for a request', async () => {
    const before = await statistics(app);
    const head = `GET /api/v1/stats HTTP/1.1\r\nHost: x\r\nX-API-Key: ${API_KEY}\r\n`;
    const body = `Content-Length: ${SMUGGLED.length}\r\n\r\n${SMUGGLED}`;
    const request = Buffer.concat([Buffer.from(head + body), get('HTTP/1.1')]);
    expect((await exchange(app, request)).map(summaryOf)).toEqual([{ status: 200 }, { status: 200 }]);
    const keyless = Buffer.from(`POST ${PATH} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${body}`);
    expect((await exchange(app, keyless)).map(summaryOf)).toEqual([{ status: 401, code: 'UNAUTHORIZED' }]);
    expect(await statistics(app)).toEqual(before);
  });

  it('requests sent together are answered one after another, in order', async () => {
    const keep = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: x\r\nX-API-Key: ${API_KEY}\r\n\r\n`;
    const all = Buffer.concat([Buffer.from(keep('/api/v1/stats') + keep('/nowhere')), get('HTTP/1.1')]);
    expect((await exchange(app, all)).map(summaryOf)).toEqual([
      { status: 200 },
      { status: 404, code: 'NOT_FOUND' },
      { status: 200 },
    ]);
  });

  it('of requests sent together, a malformed one ends the connection, after the earlier ones were answered', async () => {
    const keep = `GET /api/v1/stats HTTP/1.1\r\nHost: x\r\nX-API-Key: ${API_KEY}\r\n\r\n`;
    const all = Buffer.concat([Buffer.from(keep), upload([LENGTH, CHUNKED], CHUNKS), Buffer.from(SMUGGLED)]);
    expect((await exchange(app, all)).map(summaryOf)).toEqual([{ status: 200 }, NO_HTTP]);
  });
});
