import { createHmac } from 'node:crypto';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { SampleModule } from './sample.module';
import { type Answer, faults, send } from '../support/application/send';

describe('A list', () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await createTestApp({ modules: [SampleModule] });
  });
  afterAll(() => app.close());

  function list(query: string, on = app): Promise<Answer> {
    return send(on, 'GET', `/api/v1/samples?${query}`);
  }

  it('is paged by cursor, keeping its order, total and filters', async () => {
    const pages = [];
    let query = 'order=desc&type=x&from=2026-01-01';
    for (let page = 0; page < 5 && query !== ''; page += 1) {
      const { body } = await list(query);
      pages.push(body.data);
      expect(body).toMatchObject({ total: 5, filters: { type: 'x', from: '2026-01-01T00:00:00.000Z' } });
      query = body.nextCursor === undefined ? '' : `cursor=${body.nextCursor}`;
    }
    expect(pages).toEqual([[5, 4], [3, 2], [1]]);
  });

  it('continues from an offset, with another limit', async () => {
    const first = await list('offset=1&limit=1');
    expect(first.body).toMatchObject({ data: [2], total: 5 });
    const next = await list(`limit=10&cursor=${first.body.nextCursor}`);
    expect(next.body.data).toEqual([3, 4, 5]);
    expect(next.body).not.toHaveProperty('nextCursor');
  });

  it('refuses a cursor together with parameters that it contains', async () => {
    const { nextCursor } = (await list('type=x')).body;
    for (const other of ['offset=0', 'order=asc', 'type=x', 'from=2026-01-01']) {
      const answer = await list(`cursor=${nextCursor}&${other}`);
      expect(answer.status).toBe(400);
      expect(faults(answer)).toEqual({ 'query.cursor': expect.stringContaining('only limit') });
    }
  });

  it('refuses a cursor that is altered, forged, or no longer readable', async () => {
    const { nextCursor } = (await list('')).body as { nextCursor: string };
    const middle = Math.floor(nextCursor.length / 2);
    const character = nextCursor.charAt(middle) === 'A' ? 'B' : 'A';
    const altered = nextCursor.slice(0, middle) + character + nextCursor.slice(middle + 1);
    for (const cursor of [altered, `${nextCursor}A`, nextCursor.slice(0, -1), 'x', 'e30', '%20', `${nextCursor}%3D`]) {
      const answer = await list(`cursor=${cursor}`);
      expect(answer.status).toBe(400);
      expect(Object.keys(faults(answer))).toEqual(['query.cursor']);
    }
  });

  it('gives no client a cursor by which to try API keys quickly', async () => {
    const { nextCursor } = (await list('')).body as { nextCursor: string };
    const bytes = Buffer.from(nextCursor, 'base64url');
    const hmac = (key: string | Buffer, text: string | Buffer): Buffer =>
      createHmac('sha256', key).update(text).digest();
    const sealed = bytes.subarray(0, 32);
    const content = bytes.subarray(32);
    const quick = ['a-key-for-tests-that-is-long-enough', hmac('a-key-for-tests-that-is-long-enough', 'list cursor')];
    for (const key of quick) expect(hmac(key, content).equals(sealed)).toBe(false);
  });

  it('accepts cursors from before the key was rotated, but none made with another key', async () => {
    const old = (await list('')).body.nextCursor as string;
    const environment = { API_KEY: 'another-key-that-is-long-enough' };
    const stranger = await createTestApp({ modules: [SampleModule], environment });
    const key = environment.API_KEY;
    expect((await send(stranger, 'GET', `/api/v1/samples?cursor=${old}`, { key })).status).toBe(400);
    await stranger.close();
    const rotated = await createTestApp({
      modules: [SampleModule],
      environment: { ...environment, API_KEY_PREVIOUS: 'a-key-for-tests-that-is-long-enough' },
    });
    expect((await send(rotated, 'GET', `/api/v1/samples?cursor=${old}`, { key })).status).toBe(200);
    await rotated.close();
  });
});
