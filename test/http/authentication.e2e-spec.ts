import { API_KEY } from '../support/application/api-key';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { SampleModule } from './sample.module';
import { send, sendRaw } from '../support/application/send';

const PREVIOUS_KEY = 'the-key-of-before-the-rotation';

describe('Authentication', () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await createTestApp({ modules: [SampleModule], environment: { API_KEY_PREVIOUS: PREVIOUS_KEY } });
  });
  afterAll(() => app.close());

  it.each([
    ['none', null],
    ['a wrong one', 'wrong'],
    ['a longer one', `${API_KEY}x`],
    ['a shorter one', API_KEY.slice(0, -1)],
    ['an empty one', ''],
  ])('refuses a request with a key that is %s', async (_what, key) => {
    const answer = await send(app, 'GET', '/api/v1/samples', { key });
    expect(answer.status).toBe(401);
    expect(answer.body.error.code).toBe('UNAUTHORIZED');
    expect(answer.headers.get('www-authenticate')).toBe('ApiKey realm="governance", Bearer realm="governance"');
    expect(answer.text).not.toContain(API_KEY);
  });

  it('accepts the current and the previous key', async () => {
    expect((await send(app, 'GET', '/api/v1/samples')).status).toBe(200);
    expect((await send(app, 'GET', '/api/v1/samples', { key: PREVIOUS_KEY })).status).toBe(200);
  });

  it('accepts the header in upper or lower case', async () => {
    const head = `GET /api/v1/samples HTTP/1.1\r\nHost: x\r\nx-ApI-kEy: ${API_KEY}\r\nConnection: close\r\n\r\n`;
    expect(await sendRaw(app, head)).toMatch(/^HTTP\/1\.1 200 /);
  });

  const KEY_HEADER = `X-API-Key: ${API_KEY}\r\n`;
  const BEARER = `Authorization: Bearer ${API_KEY}\r\n`;
  it.each([
    ['two key headers, even equal ones', KEY_HEADER + KEY_HEADER],
    ['both headers at once', KEY_HEADER + BEARER],
    ['two headers Authorization', BEARER + BEARER],
    ['two headers Authorization, of which one has another scheme', `Authorization: Basic YTpi\r\n${BEARER}`],
  ])('refuses %s', async (_what, headers) => {
    const head = `GET /api/v1/samples HTTP/1.1\r\nHost: x\r\n${headers}Connection: close\r\n\r\n`;
    expect(await sendRaw(app, head)).toMatch(/^HTTP\/1\.1 401 /);
  });

  it.each([
    ['an unknown path', 'GET', '/nothing/here'],
    ['an unknown path under the prefix', 'GET', '/api/v1/nothing'],
    ['a method the path does not answer', 'DELETE', '/api/v1/samples'],
    ['a path that cannot be decoded', 'GET', '/api/v1/samples/%ff'],
    ['a path with half an escape', 'GET', '/api/v1/samples/%4'],
    ['a path with NUL', 'GET', '/api/v1/samples/a%00b'],
    ['a body that is not JSON', 'POST', '/api/v1/samples'],
  ])('comes before %s', async (_what, method, path) => {
    const keyless = await send(app, method, path, { key: null, ...(method === 'POST' && { body: '{' }) });
    expect(keyless.status).toBe(401);
  });

  it('is needed for OPTIONS while cross-origin requests are off', async () => {
    const preflight = { Origin: 'https://example.org', 'Access-Control-Request-Method': 'GET' };
    expect((await send(app, 'OPTIONS', '/api/v1/samples', { key: null, headers: preflight })).status).toBe(401);
  });

  it('is not needed for a public route', async () => {
    expect((await send(app, 'GET', '/api/v1/samples/open', { key: null })).status).toBe(200);
  });

  it.each([
    ['X-API-Key', (id: string) => ({ 'X-API-Key': `secret-${id}-end` })],
    ['Authorization', (id: string) => ({ Authorization: `Bearer secret-${id}-end` })],
  ])('keeps no eight characters of what stands in %s as the id of the request', async (_header, headers) => {
    const idOf = async (requestId: string): Promise<string | null> => {
      const sent = { key: null, headers: { ...headers('0123456789'), 'X-Request-Id': requestId } };
      return (await send(app, 'GET', '/api/v1/samples', sent)).headers.get('x-request-id');
    };
    expect(await idOf('x.1234567.x')).toBe('x.1234567.x');
    expect(await idOf('x.12345678.x')).not.toContain('12345678');
  });
});
