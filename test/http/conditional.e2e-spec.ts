import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { createEntity } from '../support/application/factories';
import { SampleModule } from './sample.module';
import { type Answer, send } from '../support/application/send';

/** Every sample is at revision 3. */
describe('A revision', () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await createTestApp({ modules: [SampleModule] });
  });
  afterAll(() => app.close());

  it('is the strong ETag of a record, made, read or changed', async () => {
    const created = await send(app, 'POST', '/api/v1/samples', { body: { name: 'a', value: 1 } });
    expect(created.headers.get('etag')).toBe('"1"');
    expect(created.headers.get('location')).toBe('/api/v1/samples/smp_1');
    expect((await send(app, 'GET', '/api/v1/samples/1')).headers.get('etag')).toBe('"3"');
    const changed = await send(app, 'PUT', '/api/v1/samples/1', { body: { name: 'b' } });
    expect(changed.headers.get('etag')).toBe('"4"');
    expect(changed.headers.get('location')).toBeNull();
  });

  it('has no ETag if a record has none', async () => {
    for (const path of ['/api/v1/samples', '/api/v1/samples/open', '/api/v1/samples/broken']) {
      expect((await send(app, 'GET', path)).headers.get('etag')).toBeNull();
    }
  });

  it('yields a Location without a double slash for a path that ends with a slash', async () => {
    const created = await send(app, 'POST', '/api/v1/samples/', { body: { name: 'a', value: 1 } });
    expect(created.headers.get('location')).toBe('/api/v1/samples/smp_1');
  });

  it.each(['"3"', 'W/"3"', '"1", "3"', '*', '"1",W/"3" , "x"'])(
    'that a client has a copy of is 304: %s',
    async (tags) => {
      for (const method of ['GET', 'HEAD']) {
        const answer = await send(app, method, '/api/v1/samples/1', { headers: { 'If-None-Match': tags } });
        expect(answer).toMatchObject({ status: 304, text: '' });
        expect(answer.headers.get('etag')).toBe('"3"');
      }
    },
  );

  it.each(['"2"', '"33"', '"*"', '3', '"1" "3"', ''])(
    'that a client has no copy of is returned in full: %j',
    async (tags) => {
      const answer = await send(app, 'GET', '/api/v1/samples/1', { headers: { 'If-None-Match': tags } });
      expect(answer.status).toBe(200);
      expect(answer.body.revision).toBe(3);
    },
  );

  it('alone makes a 304: what has no ETag is returned in full, also to who has any copy', async () => {
    const { id: entity } = await createEntity(app);
    const paths = [
      '/api/v1/samples',
      '/api/v1/samples/open',
      '/api/v1/me',
      '/api/v1/stats',
      '/api/v1/health',
      '/metrics',
      `/api/v1/entities/${entity}?asOf=1`,
    ];
    // Otherwise fetch adds `no-cache`.
    const anyCopy = { 'If-None-Match': '*', 'Cache-Control': 'max-age=0' };
    for (const path of paths) {
      for (const method of ['GET', 'HEAD']) {
        const answer = await send(app, method, path, { headers: anyCopy });
        expect([method, path, answer.status, answer.headers.get('etag')]).toEqual([method, path, 200, null]);
        expect(answer.text === '').toBe(method === 'HEAD');
      }
    }
    expect((await send(app, 'GET', `/api/v1/entities/${entity}`, { headers: anyCopy })).status).toBe(304);
  });

  it('is answered with 304 even if the client bypasses caches', async () => {
    const headers = { 'If-None-Match': '"3"', 'Cache-Control': 'no-cache' };
    expect((await send(app, 'GET', '/api/v1/samples/1', { headers })).status).toBe(304);
  });

  function change(tags: string): Promise<Answer> {
    return send(app, 'PUT', '/api/v1/samples/1', { body: { name: 'b' }, headers: { 'If-Match': tags } });
  }

  it.each(['"3"', '*', '"1", "3"', ' "3" '])('that a change is based on allows it: %s', async (tags) => {
    expect((await change(tags)).status).toBe(200);
    const removal = { headers: { 'If-Match': tags } };
    expect((await send(app, 'DELETE', '/api/v1/samples/1', removal)).status).toBe(204);
  });

  it.each(['"2"', 'W/"3"', '"1", "2"', '""'])('that a change is not based on makes it 412: %s', async (tags) => {
    const answer = await change(tags);
    expect(answer.status).toBe(412);
    expect(answer.body.error.code).toBe('PRECONDITION_FAILED');
    const removal = { headers: { 'If-Match': tags } };
    expect((await send(app, 'DELETE', '/api/v1/samples/1', removal)).status).toBe(412);
  });

  it('in the weak form that a compressing proxy makes of a tag is explained', async () => {
    expect((await change('W/"3"')).body.error.message).toContain('a weak tag (W/…) names none');
  });

  it.each(['3', '"3', 'W/3', '"1" "3"', '"3",', ',', 'w/"3"', '*, "3"', '"3 "'])(
    'that is malformed in If-Match is 400: %s',
    async (tags) => {
      const answer = await change(tags);
      expect(answer.status).toBe(400);
      expect(answer.body.error.details[0].field).toBe('header.If-Match');
      const removal = { headers: { 'If-Match': tags } };
      expect((await send(app, 'DELETE', '/api/v1/samples/1', removal)).status).toBe(400);
    },
  );
});
