import { createTestApp, type TestApp } from '../support/create-test-app';
import { SampleModule } from '../support/sample.module';
import { send, sendRaw } from '../support/send';

const LIMIT = 5;

describe('The rate limit', () => {
  let app: TestApp;

  async function start(environment: Record<string, string> = {}): Promise<void> {
    app = await createTestApp({ modules: [SampleModule], environment: { RATE_LIMIT: String(LIMIT), ...environment } });
  }
  afterEach(() => app.close());

  it('counts every request of a client over all routes, and says so', async () => {
    await start({ RATE_WINDOW: '60000' });
    const requests: [string, string, object][] = [
      ['GET', '/api/v1/samples', {}],
      ['GET', '/nothing', {}],
      ['GET', '/api/v1/samples/%ff', {}],
      ['POST', '/api/v1/samples', { body: '{' }],
      ['GET', '/api/v1/samples', { key: 'wrong' }],
    ];
    const answers = [];
    for (const [method, path, sent] of requests) answers.push(await send(app, method, path, sent));
    expect(answers.map(({ status }) => status)).toEqual([200, 404, 400, 400, 401]);
    expect(answers.map(({ headers }) => headers.get('x-ratelimit-remaining'))).toEqual(['4', '3', '2', '1', '0']);
    const now = Date.now() / 1000;
    for (const { headers } of answers) {
      expect(headers.get('x-ratelimit-limit')).toBe('5');
      expect(Number(headers.get('x-ratelimit-reset'))).toBeGreaterThan(now);
      expect(Number(headers.get('x-ratelimit-reset'))).toBeLessThanOrEqual(now + 61);
    }
  });

  it('refuses what goes beyond, before anything else is looked at', async () => {
    await start();
    for (let count = 0; count < LIMIT; count += 1) await send(app, 'GET', '/api/v1/samples');
    const refused = await send(app, 'GET', '/nothing', { key: null });
    expect(refused.status).toBe(429);
    expect(refused.body.error.code).toBe('RATE_LIMITED');
    expect(refused.headers.get('x-ratelimit-remaining')).toBe('0');
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(refused.headers.get('x-request-id')).toBe(refused.body.error.requestId);
  });

  it('lets the client in again in the next window', async () => {
    await start({ RATE_WINDOW: '1000' });
    for (let count = 0; count <= LIMIT; count += 1) await send(app, 'GET', '/api/v1/samples');
    expect((await send(app, 'GET', '/api/v1/samples')).status).toBe(429);
    await new Promise((resolve) => setTimeout(resolve, 1100));
    const answer = await send(app, 'GET', '/api/v1/samples');
    expect(answer.status).toBe(200);
    expect(answer.headers.get('x-ratelimit-remaining')).toBe('4');
  });

  it('refuses nobody for longer than a window when the clock goes back', async () => {
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

  it('counts a route with a bucket of its own apart, under the same limit', async () => {
    await start();
    for (let count = 0; count <= LIMIT; count += 1) await send(app, 'GET', '/api/v1/samples');
    expect((await send(app, 'GET', '/api/v1/samples')).status).toBe(429);
    for (let count = 0; count < LIMIT; count += 1) {
      expect((await send(app, 'GET', '/api/v1/samples/open')).status).toBe(200);
    }
    expect((await send(app, 'GET', '/api/v1/samples/open')).status).toBe(429);
  });

  it('counts what Node refuses', async () => {
    await start();
    for (let count = 0; count < LIMIT; count += 1) await sendRaw(app, 'NONSENSE\r\n\r\n');
    expect((await send(app, 'GET', '/api/v1/samples')).status).toBe(429);
  });

  async function remaining(forwarded: string): Promise<string | null> {
    const answer = await send(app, 'GET', '/api/v1/samples', { headers: { 'X-Forwarded-For': forwarded } });
    return answer.headers.get('x-ratelimit-remaining');
  }

  it('gives nothing for a forged X-Forwarded-For', async () => {
    await start();
    expect(await remaining('198.51.100.1')).toBe('4');
    expect(await remaining('198.51.100.2')).toBe('3');
  });

  it('counts the client a trusted proxy names', async () => {
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
