import { once } from 'node:events';
import { connect } from 'node:net';
import { API_KEY } from '../support/application/api-key';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { SampleModule } from './sample.module';
import { type Answer, faults, send, sendRaw } from '../support/application/send';

const LIMIT = 2000;
const SMALLEST_BODY = { name: 'a', value: 'b' };

describe('A body', () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await createTestApp({ modules: [SampleModule], environment: { BODY_LIMIT: String(LIMIT) } });
  });
  afterAll(() => app.close());

  function post(body: string, headers: Record<string, string> = {}): Promise<Answer> {
    return send(app, 'POST', '/api/v1/samples', { body, headers });
  }

  function ofLength(length: number): string {
    const rest = JSON.stringify({ ...SMALLEST_BODY, properties: { a: '' } }).length;
    return JSON.stringify({ ...SMALLEST_BODY, properties: { a: 'x'.repeat(length - rest) } });
  }

  it('may have BODY_LIMIT bytes and not one more', async () => {
    expect((await post(ofLength(LIMIT))).status).toBe(201);
    const refused = await post(ofLength(LIMIT + 1));
    expect(refused.status).toBe(413);
    expect(refused.body.error).toMatchObject({ code: 'PAYLOAD_TOO_LARGE', message: expect.stringContaining('2000') });
  });

  it('may have BODY_LIMIT bytes if it comes in chunks', async () => {
    const chunked = (body: string): string =>
      `POST /api/v1/samples HTTP/1.1\r\nHost: x\r\nX-API-Key: ${API_KEY}\r\nConnection: close\r\n` +
      'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n' +
      body.replace(/[^]{1,500}/g, (part) => `${part.length.toString(16)}\r\n${part}\r\n`) +
      '0\r\n\r\n';
    expect(await sendRaw(app, chunked(ofLength(LIMIT)))).toMatch(/^HTTP\/1\.1 201 /);
    expect(await sendRaw(app, chunked(ofLength(LIMIT + 1)))).toMatch(/^HTTP\/1\.1 413 [^]*PAYLOAD_TOO_LARGE/);
  });

  it.each([
    'application/json',
    'Application/JSON',
    'application/json; charset=utf-8',
    'application/json;charset="UTF-8"',
    'application/json; profile="x"',
  ])('is taken as %s', async (type) => {
    expect((await post(JSON.stringify(SMALLEST_BODY), { 'Content-Type': type })).status).toBe(201);
  });

  it.each([
    ['text/plain', {}],
    ['application/x-www-form-urlencoded', {}],
    ['application/merge-patch+json', {}],
    ['application/jsonx', {}],
    ['', {}],
    ['application/json; charset=latin1', {}],
    ['application/json; charset=utf-16', {}],
    ['application/json; charset="utf-16 "', {}],
    ['application/json; charset=utf-16 x', {}],
    ['application/json; charset = "utf-16', {}],
    ['application/json; charset="utf-8', {}],
    ['application/json; charset', {}],
    ['application/json', { 'Content-Encoding': 'gzip' }],
  ])('is refused with 415 as "%s" %j', async (type, headers) => {
    const answer = await post('{"broken', { 'Content-Type': type, ...headers });
    expect(answer.status).toBe(415);
    expect(answer.body.error.code).toBe('UNSUPPORTED_MEDIA_TYPE');
    expect(answer.headers.get('accept-encoding')).toBe('Content-Encoding' in headers ? 'identity' : null);
  });

  it('may say that it is not encoded', async () => {
    expect((await post(JSON.stringify(SMALLEST_BODY), { 'Content-Encoding': 'identity' })).status).toBe(201);
  });

  it('is refused by its length before its type', async () => {
    expect((await post(ofLength(LIMIT + 1), { 'Content-Type': 'text/plain' })).status).toBe(413);
  });

  it.each(['{', '{"name":}', "{'name':'a'}", '{"name":"a",}', 'nonsense', '{"a":01}', '{} {}', '\u0000'])(
    'that is malformed is 400: %j',
    async (body) => {
      const answer = await post(body);
      expect(answer.status).toBe(400);
      expect(faults(answer)).toEqual({ body: expect.stringMatching(/^must be valid JSON/) });
      expect(answer.text).not.toContain('Unexpected');
    },
  );

  it('that is malformed is refused with the position of the fault', async () => {
    expect(faults(await post('{"name": "a",\n "value": x}'))['body']).toMatch(
      /\(see line 2, column 11\)$|^must be valid JSON$/,
    );
  });

  it.each(['[]', '"text"', '1', 'null', 'true'])('that is not an object is 400: %s', async (body) => {
    const answer = await post(body);
    expect(answer.status).toBe(400);
    expect(faults(answer)).toEqual({ body: 'must be a JSON object' });
  });

  it('that is not UTF-8 is 400', async () => {
    const body = Buffer.from('{"name":"\xff","value":"b"}', 'latin1');
    const head =
      `POST /api/v1/samples HTTP/1.1\r\nHost: x\r\nX-API-Key: ${API_KEY}\r\nConnection: close\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
    expect(await sendRaw(app, Buffer.concat([Buffer.from(head), body]))).toMatch(/^HTTP\/1\.1 400 [^]*must be UTF-8/);
  });

  it('may begin with a byte order mark', async () => {
    expect((await post(`\uFEFF${JSON.stringify(SMALLEST_BODY)}`)).status).toBe(201);
  });

  it('that is empty counts as absent, with any type', async () => {
    const headers = { 'Content-Type': 'text/plain' };
    expect((await send(app, 'POST', '/api/v1/samples/1/act', { headers })).status).toBe(200);
    const chunked =
      `POST /api/v1/samples/1/act HTTP/1.1\r\nHost: x\r\nX-API-Key: ${API_KEY}\r\nConnection: close\r\n` +
      'Content-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n';
    expect(await sendRaw(app, chunked)).toMatch(/^HTTP\/1\.1 200 /);
    expect(faults(await send(app, 'POST', '/api/v1/samples'))).toEqual({ name: 'is required', value: 'is required' });
  });

  it('is empty or {} where none is declared', async () => {
    expect((await send(app, 'POST', '/api/v1/samples/1/act', { body: {} })).status).toBe(200);
    const answer = await send(app, 'POST', '/api/v1/samples/1/act?x=1', { body: { a: 1, b: null } });
    expect(answer.status).toBe(400);
    expect(Object.keys(faults(answer))).toEqual(['query.x', 'a', 'b']);
    expect((await send(app, 'POST', '/api/v1/samples/1/act', { body: 'x' })).status).toBe(400);
  });

  it('that is cut short is 400 and does no harm', async () => {
    const head =
      `POST /api/v1/samples HTTP/1.1\r\nHost: x\r\nX-API-Key: ${API_KEY}\r\n` +
      'Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"name"';
    const { hostname, port } = new URL(app.url);
    const gone = connect(Number(port), hostname);
    gone.write(head);
    await new Promise((resolve) => setTimeout(resolve, 50));
    gone.destroy();
    const listening = connect({ port: Number(port), host: hostname, allowHalfOpen: true });
    listening.end(head);
    const [answer] = (await once(listening, 'data')) as [Buffer];
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 400 [^]*must arrive whole/);
    listening.destroy();
    expect((await send(app, 'GET', '/api/v1/samples')).status).toBe(200);
  });
});
