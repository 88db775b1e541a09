import { once } from 'node:events';
import type { Socket } from 'node:net';
import { API_KEY } from '../support/application/api-key';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { SampleModule } from './sample.module';
import { type Parsed, sendRaw } from '../support/application/send';

describe('A request that is not valid HTTP', () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await createTestApp({ modules: [SampleModule] });
  });
  afterAll(() => app.close());

  function parsed(answer: string): { status: number; headers: string; body: Parsed } {
    const [head = '', body = ''] = answer.split('\r\n\r\n');
    return { status: Number(head.split(' ')[1]), headers: head.toLowerCase(), body: JSON.parse(body) };
  }

  it.each([
    ['a request line that is none', 'NONSENSE\r\n\r\n'],
    ['a header without a name', 'GET / HTTP/1.1\r\nHost: x\r\n: y\r\n\r\n'],
    ['two lengths', 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n'],
    ['a length that is not a number', 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: many\r\n\r\n'],
    ['a tunnel', 'CONNECT example.org:443 HTTP/1.1\r\nHost: example.org\r\n\r\n'],
  ])('is answered in the common shape: %s', async (_what, request) => {
    const { status, headers, body } = parsed(await sendRaw(app, request));
    expect(status).toBe(400);
    expect(body.error).toMatchObject({ code: 'VALIDATION_ERROR', details: [{ field: 'request' }] });
    expect(headers).toContain(`x-request-id: ${body.error.requestId}`);
    expect(headers).toMatch(/x-ratelimit-limit: \d+\r\nx-ratelimit-remaining: \d+\r\nx-ratelimit-reset: \d+/);
    expect(headers).toContain('connection: close');
  });

  it('is answered with 431 if its headers are too large', async () => {
    const answer = await sendRaw(app, `GET / HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(20_000)}\r\n\r\n`);
    const { status, body } = parsed(answer);
    expect(status).toBe(431);
    expect(body.error.code).toBe('HEADERS_TOO_LARGE');
  });

  it('does not prevent the answer to the request before it', async () => {
    const good = `GET /api/v1/samples/7 HTTP/1.1\r\nHost: x\r\nX-API-Key: ${API_KEY}\r\n\r\n`;
    const answers = await sendRaw(app, `${good}NONSENSE\r\n\r\n`);
    expect(answers).toMatch(/^HTTP\/1\.1 200 OK[^]*"id":"7"[^]*HTTP\/1\.1 400 Bad Request/);
  });

  it('ends the connection if it asks for a tunnel while an earlier answer is pending', async () => {
    const good = `GET /api/v1/samples/7 HTTP/1.1\r\nHost: x\r\nX-API-Key: ${API_KEY}\r\n\r\n`;
    expect(await sendRaw(app, `${good}CONNECT a:1 HTTP/1.1\r\n\r\n`)).toBe('');
  });

  it('passes the guards first if only its Host is missing', async () => {
    const keyless = await sendRaw(app, 'GET /api/v1/samples HTTP/1.1\r\nConnection: close\r\n\r\n');
    expect(parsed(keyless).status).toBe(401);
    const keyed = await sendRaw(app, `GET / HTTP/1.1\r\nX-API-Key: ${API_KEY}\r\nConnection: close\r\n\r\n`);
    expect(parsed(keyed)).toMatchObject({
      status: 400,
      body: { error: { code: 'VALIDATION_ERROR', details: [{ field: 'header.Host' }] } },
    });
  });

  it('ignores an expectation it does not know', async () => {
    const head = `GET /api/v1/samples/7 HTTP/1.1\r\nHost: x\r\nX-API-Key: ${API_KEY}\r\n`;
    const answer = await sendRaw(app, `${head}Expect: the-impossible\r\nConnection: close\r\n\r\n`);
    expect(answer).toMatch(/^HTTP\/1\.1 200 OK/);
  });

  it("is answered when Node's time limit for its body has passed", async () => {
    const connection = once(app.application.getHttpServer(), 'connection') as Promise<[Socket]>;
    const head = `POST /api/v1/samples HTTP/1.1\r\nHost: x\r\nX-API-Key: ${API_KEY}\r\nContent-Type: application/json\r\n`;
    const answer = sendRaw(app, `${head}Content-Length: 100\r\n\r\n{"name"`);
    const [socket] = await connection;
    await new Promise((resolve) => setTimeout(resolve, 50));
    const timeout = Object.assign(new Error('Request timeout'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
    app.application.getHttpServer().emit('clientError', timeout, socket);
    expect(await answer).toMatch(/^HTTP\/1\.1 400 [^]*"field":"body","message":"must arrive whole"/);
  });
});
