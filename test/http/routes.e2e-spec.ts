import { API_KEY } from '../support/application/api-key';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { HttpModule } from '../../src/http/http.module';
import { SampleModule } from './sample.module';
import { send, sendRaw } from '../support/application/send';

describe('A path', () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await createTestApp({ modules: [SampleModule] });
  });
  afterAll(() => app.close());

  it.each(['/api', '/api/v1', '/api/v2/samples', '/samples', '/api/v1/samples/1/2', '/unreadable', '/api/v1//samples'])(
    'that has no route is 404: %s',
    async (path) => {
      const answer = await send(app, 'GET', path);
      expect(answer.status).toBe(404);
      expect(answer.body.error).toMatchObject({ code: 'NOT_FOUND', requestId: answer.headers.get('x-request-id') });
    },
  );

  it.each([
    ['PUT', '/api/v1/samples', 'GET, HEAD, POST'],
    ['POST', '/api/v1/samples/1', 'DELETE, GET, HEAD, PATCH, PUT'],
    ['GET', '/api/v1/samples/1/act', 'POST'],
    ['HEAD', '/api/v1/samples/1/act', 'POST'],
    ['OPTIONS', '/api/v1/samples', 'GET, HEAD, POST'],
    ['PROPFIND', '/api/v1/samples', 'GET, HEAD, POST'],
  ])('with another method is 405: %s %s', async (method, path, allow) => {
    const answer = await send(app, method, path);
    expect(answer.status).toBe(405);
    expect(answer.headers.get('allow')).toBe(allow);
    if (method !== 'HEAD') expect(answer.body.error.code).toBe('METHOD_NOT_ALLOWED');
  });

  it('answers HEAD wherever it answers GET, without a body', async () => {
    const answer = await send(app, 'HEAD', '/api/v1/samples/1');
    expect(answer).toMatchObject({ status: 200, text: '' });
    expect(answer.headers.get('etag')).toBe('"3"');
  });

  it.each([
    ['/api/v1/samples/%ff', 'path', 'must be percent-encoded UTF-8'],
    ['/api/v1/samples/%c3%28/act?x=%ff', 'path', 'must be percent-encoded UTF-8'],
    ['/api/v1/samples/a%00b', 'path', 'must not contain a NUL character'],
    ['/api/v1/samples/%', 'path', 'must be percent-encoded UTF-8'],
    ['/%zz', 'path', 'must be percent-encoded UTF-8'],
    ['/api/v1/samples/1/%ff/2', 'path', 'must be percent-encoded UTF-8'],
  ])('that cannot be read is 400: %s', async (path, field, message) => {
    const head = `GET ${path} HTTP/1.1\r\nHost: x\r\nX-API-Key: ${API_KEY}\r\nConnection: close\r\n\r\n`;
    const [top = '', body = ''] = (await sendRaw(app, head)).split('\r\n\r\n');
    expect(top).toMatch(/^HTTP\/1\.1 400 /);
    expect(JSON.parse(body).error).toMatchObject({ code: 'VALIDATION_ERROR', details: [{ field, message }] });
  });

  it('that does not begin with a slash is 400, and 401 without a key', async () => {
    const asterisk = 'OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n';
    expect(await sendRaw(app, `${asterisk}X-API-Key: ${API_KEY}\r\n\r\n`)).toMatch(/^HTTP\/1\.1 400 /);
    expect(await sendRaw(app, `${asterisk}\r\n`)).toMatch(/^HTTP\/1\.1 401 /);
  });

  it('may be sent in absolute form, and has no fragment', async () => {
    const rest = ` HTTP/1.1\r\nHost: x\r\nX-API-Key: ${API_KEY}\r\nConnection: close\r\n\r\n`;
    expect(await sendRaw(app, `GET http://x/api/v1/samples/7${rest}`)).toMatch(/^HTTP\/1\.1 200 [^]*"id":"7"/);
    expect(await sendRaw(app, `GET /api/v1/samples/a#b${rest}`)).toMatch(/^HTTP\/1\.1 200 [^]*"id":"a#b"/);
  });

  it('finds a record by its percent-encoded name', async () => {
    expect((await send(app, 'GET', '/api/v1/samples/a%2Fb%20%C3%A9%3F')).body.id).toBe('a/b é?');
  });
});

describe('Routes', () => {
  it('are refused at the start if they could not be reached', async () => {
    await expect(createTestApp({ modules: [HttpModule, SampleModule] })).rejects.toThrow('HttpModule');
  });
});
