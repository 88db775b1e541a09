import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { SampleModule } from './sample.module';
import { type Answer, isReplayed, send, type Sent } from '../support/application/send';

const ORIGIN = 'https://app.example.org';
const ENTITY = { type: 'service', name: 'Payment gateway' };

describe('Caches', () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await createTestApp({ modules: [SampleModule], environment: { CORS_ORIGIN: ORIGIN } });
  });
  afterAll(() => app.close());

  function cachingOf({ headers }: Answer): object {
    const vary = (headers.get('vary') ?? '').split(/, */);
    const byCaller = ['X-API-Key', 'Authorization'].filter((name) => vary.includes(name));
    return { control: headers.get('cache-control'), byCaller };
  }
  const OF_THE_CALLER = { control: 'private, no-cache', byCaller: ['X-API-Key', 'Authorization'] };

  it.each<[string, string, Sent, number]>([
    ['GET', '/api/v1/entities', {}, 200],
    ['GET', '/api/v1/entities', { key: null }, 401],
    ['HEAD', '/api/v1/entities', {}, 200],
    ['GET', '/api/v1/samples/1', {}, 200],
    ['GET', '/api/v1/samples/1', { headers: { 'If-None-Match': '"3"' } }, 304],
    ['GET', '/api/v1/entities/nothing', {}, 404],
    ['GET', '/api/v1/entities?limit=x', {}, 400],
    ['GET', '/api/v1/samples/broken', {}, 500],
    ['GET', '/api/v1/provenance/export', {}, 200],
    ['GET', '/api/v1/events', {}, 200],
    ['GET', '/api/v1/health', { key: null }, 200],
    ['GET', '/api/v1/health/live', { key: null }, 200],
    ['GET', '/metrics', {}, 200],
    ['GET', '/docs/openapi.json', { key: null }, 200],
    ['GET', '/docs?version=1', { key: null }, 400],
    ['GET', '/nothing', {}, 404],
    ['GET', '/%ff', {}, 400],
    ['DELETE', '/api/v1/entities', {}, 405],
  ])('that many share keep no %s %s (%j, %i)', async (method, path, sent, status) => {
    const headers = { Origin: ORIGIN, ...sent.headers };
    const answer = await send(app, method, path, { ...sent, headers });
    expect(answer.status).toBe(status);
    expect(cachingOf(answer)).toEqual(OF_THE_CALLER);
    expect(answer.headers.get('vary')).toContain('Origin');
  });

  it('that are shared do not store replayed answers', async () => {
    const headers = { 'Idempotency-Key': 'caches' };
    for (const replayed of [false, true]) {
      const answer = await send(app, 'POST', '/api/v1/entities', { body: ENTITY, headers });
      expect([answer.status, isReplayed(answer)]).toEqual([201, replayed]);
      expect(cachingOf(answer)).toEqual(OF_THE_CALLER);
    }
  });

  it('may store the files of the documentation', async () => {
    const files = [
      '/docs',
      '/docs/start.js',
      '/docs/swagger-ui.css',
      '/docs/swagger-ui-bundle.js',
      '/docs/favicon-16x16.png',
    ];
    for (const path of files) {
      const answer = await send(app, 'GET', path, { key: null });
      expect([answer.status, answer.headers.get('cache-control')]).toEqual([200, 'public, max-age=300']);
    }
  });
});
