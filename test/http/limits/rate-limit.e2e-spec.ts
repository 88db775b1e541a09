import { Logger } from '@nestjs/common';
import { API_KEY } from '../../support/application/api-key';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { SampleModule } from '../sample.module';
import { send, sendRaw, type Sent } from '../../support/application/send';

const LIMIT = 5;

describe('The rate limit', () => {
  let app: TestApp;

  async function start(environment: Record<string, string> = {}): Promise<void> {
    app = await createTestApp({ modules: [SampleModule], environment: { RATE_LIMIT: String(LIMIT), ...environment } });
  }
  afterEach(() => app.close());

  it.each<[string, [string, string, Sent, number][]]>([
    [
      'with a key',
      [
        ['GET', '/api/v1/samples', {}, 200],
        ['GET', '/nothing', {}, 404],
        ['GET', '/api/v1/samples/%ff', {}, 400],
        ['POST', '/api/v1/samples', { body: '{' }, 400],
        ['GET', '/docs/openapi.json', {}, 200],
      ],
    ],
    [
      'without one',
      [
        ['GET', '/api/v1/samples', { key: null }, 401],
        ['GET', '/api/v1/samples', { key: 'wrong' }, 401],
        ['GET', '/docs/nothing.js', { key: null }, 404],
        ['GET', '/docs/openapi.json', { key: null }, 200],
        ['GET', '/', { key: null }, 302],
      ],
    ],
  ])('counts every request %s over all routes, and says so', async (_which, requests) => {
    await start({ RATE_WINDOW: '60000' });
    const answers = [];
    for (const [method, path, sent] of requests) answers.push(await send(app, method, path, sent));
    expect(answers.map(({ status }) => status)).toEqual(requests.map(([, , , status]) => status));
    expect(answers.map(({ headers }) => headers.get('x-ratelimit-remaining'))).toEqual(['4', '3', '2', '1', '0']);
    const now = Date.now() / 1000;
    for (const { headers } of answers) {
      expect(headers.get('x-ratelimit-limit')).toBe('5');
      expect(Number(headers.get('x-ratelimit-reset'))).toBeGreaterThan(now);
      expect(Number(headers.get('x-ratelimit-reset'))).toBeLessThanOrEqual(now + 61);
    }
  });

  it('refuses further requests before anything else is checked', async () => {
    await start();
    for (let count = 0; count < LIMIT; count += 1) await send(app, 'GET', '/api/v1/samples');
    const refused = await send(app, 'GET', '/nothing');
    expect(refused.status).toBe(429);
    expect(refused.body.error.code).toBe('RATE_LIMITED');
    expect(refused.headers.get('x-ratelimit-remaining')).toBe('0');
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(refused.headers.get('x-request-id')).toBe(refused.body.error.requestId);
  });

  it('leaves holders of a key their share if strangers at their address use up their own', async () => {
    await start({ API_KEY_PREVIOUS: 'the-key-of-last-month-0123456789' });
    await overrun('/api/v1/samples', null);
    await overrun('/api/v1/samples', 'wrong');
    await overrun('/api/v1/samples/open', null);
    for (let count = 0; count < LIMIT; count += 1) await sendRaw(app, 'NONSENSE\r\n\r\n');
    const keys = [API_KEY, 'the-key-of-last-month-0123456789'];
    const remaining = [];
    for (const key of keys) {
      const answer = await send(app, 'GET', '/api/v1/samples', { key });
      expect(answer.status).toBe(200);
      remaining.push(answer.headers.get('x-ratelimit-remaining'));
    }
    expect(remaining).toEqual(['4', '3']);
    expect((await send(app, 'GET', '/api/v1/samples/open')).status).toBe(200);
    expect((await send(app, 'GET', '/api/v1/samples', { key: 'wrong' })).status).toBe(429);
  });

  it('leaves strangers theirs, however much the holders of a key send', async () => {
    await start();
    await overrun('/api/v1/samples', API_KEY);
    const twoKeys = await send(app, 'GET', '/api/v1/samples', { headers: { 'X-API-Key': `${API_KEY}, ${API_KEY}` } });
    expect([twoKeys.status, twoKeys.headers.get('x-ratelimit-remaining')]).toEqual([401, '4']);
    expect((await send(app, 'GET', '/api/v1/samples')).status).toBe(429);
  });

  it("does not count the files of the documentation, but reports the client's standing", async () => {
    await start();
    const files = ['/docs', '/docs/start.js', '/docs/swagger-ui.css', '/docs/swagger-ui-bundle.js'];
    for (const path of [...files, '/docs/favicon-16x16.png', '/docs/favicon-32x32.png']) {
      const answer = await send(app, 'GET', path, { key: null });
      expect([answer.status, answer.headers.get('x-ratelimit-remaining')]).toEqual([200, '5']);
    }
    await overrun('/nothing', null);
    const page = await send(app, 'GET', '/docs', { key: null });
    expect([page.status, page.headers.get('x-ratelimit-remaining')]).toEqual([200, '0']);
    expect((await send(app, 'GET', '/docs/openapi.json', { key: null })).status).toBe(429);
  });

  it('does not show in the standing there whether a key is valid, as nothing counts how many are tried', async () => {
    await start();
    await overrun('/nothing', null);
    for (const key of [API_KEY, 'not-a-key', null]) {
      const page = await send(app, 'GET', '/docs', { key });
      expect([page.status, page.headers.get('x-ratelimit-remaining')]).toEqual([200, '0']);
    }
  });

  async function overrun(path: string, key: string | null): Promise<void> {
    for (let count = 0; count <= LIMIT; count += 1) await send(app, 'GET', path, { key });
    expect((await send(app, 'GET', path, { key })).status).toBe(429);
  }

  it('admits the client again in the next window', async () => {
    await start({ RATE_WINDOW: '3000' });
    for (let count = 0; count <= LIMIT; count += 1) await send(app, 'GET', '/api/v1/samples');
    expect((await send(app, 'GET', '/api/v1/samples')).status).toBe(429);
    await new Promise((resolve) => setTimeout(resolve, 3_100));
    const answer = await send(app, 'GET', '/api/v1/samples');
    expect(answer.status).toBe(200);
    expect(answer.headers.get('x-ratelimit-remaining')).toBe('4');
  });

  it('refuses no client for longer than a window if the clock is set back', async () => {
    await start({ RATE_WINDOW: '60000' });
    for (let count = 0; count <= LIMIT; count += 1) await send(app, 'GET', '/api/v1/samples');
    expect((await send(app, 'GET', '/api/v1/samples')).status).toBe(429);
    const now = Date.now.bind(Date);
    const clock = jest.spyOn(Date, 'now').mockImplementation(() => now() - 86_400_000);
    try {
      const answer = await send(app, 'GET', '/api/v1/samples');
      expect(answer.status).toBe(200);
      expect(answer.headers.get('x-ratelimit-remaining')).toBe('4');
      expect(Number(answer.headers.get('x-ratelimit-reset'))).toBeLessThanOrEqual(Date.now() / 1000 + 61);
    } finally {
      clock.mockRestore();
    }
  });

  it('counts a route with its own bucket separately, under the same limit', async () => {
    await start();
    for (let count = 0; count <= LIMIT; count += 1) await send(app, 'GET', '/api/v1/samples');
    expect((await send(app, 'GET', '/api/v1/samples')).status).toBe(429);
    for (let count = 0; count < LIMIT; count += 1) {
      expect((await send(app, 'GET', '/api/v1/samples/open')).status).toBe(200);
    }
    expect((await send(app, 'GET', '/api/v1/samples/open')).status).toBe(429);
  });

  it('counts requests that Node refuses', async () => {
    await start();
    for (let count = 0; count < LIMIT; count += 1) await sendRaw(app, 'NONSENSE\r\n\r\n');
    expect((await send(app, 'GET', '/api/v1/samples', { key: null })).status).toBe(429);
  });

  async function remaining(forwarded: string): Promise<string | null> {
    const answer = await send(app, 'GET', '/api/v1/samples', { headers: { 'X-Forwarded-For': forwarded } });
    return answer.headers.get('x-ratelimit-remaining');
  }

  it('ignores a forged X-Forwarded-For', async () => {
    await start();
    expect(await remaining('198.51.100.1')).toBe('4');
    expect(await remaining('198.51.100.2')).toBe('3');
  });

  it.each([
    ['0', 1],
    ['1', 0],
    ['192.0.2.0/24', 0],
  ])('with TRUST_PROXY=%s warns of X-Forwarded-For so often: %i', async (TRUST_PROXY, times) => {
    const warn = jest.spyOn(Logger.prototype, 'warn');
    await start({ TRUST_PROXY });
    for (const address of ['198.51.100.1', '198.51.100.2', '<script>']) await remaining(address);
    const warnings = warn.mock.calls.map(([line]) => String(line)).filter((line) => line.includes('X-Forwarded-For'));
    warn.mockRestore();
    expect(warnings).toHaveLength(times);
    for (const warning of warnings) {
      expect(warning).toContain('TRUST_PROXY');
      expect(warning).not.toMatch(/198|script/);
    }
  });

  it('counts the client that a trusted proxy names', async () => {
    await start({ TRUST_PROXY: '1' });
    expect(await remaining('198.51.100.1')).toBe('4');
    expect(await remaining('198.51.100.2')).toBe('4');
    expect(await remaining('203.0.113.9, 198.51.100.1')).toBe('3');
    expect(await remaining('not an address')).toBe('4');
    expect(await remaining('not an address either')).toBe('3');
  });

  it('counts an IPv6 client as its /64 and a mapped address as IPv4', async () => {
    await start({ TRUST_PROXY: '127.0.0.0/8' });
    expect(await remaining('2001:db8:1:2::1')).toBe('4');
    expect(await remaining('2001:db8:1:2:ffff:ffff:ffff:ffff')).toBe('3');
    expect(await remaining('2001:db8:1:3::1')).toBe('4');
    expect(await remaining('198.51.100.1')).toBe('4');
    expect(await remaining('::ffff:198.51.100.1')).toBe('3');
  });
});
