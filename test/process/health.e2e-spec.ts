import { Database } from '../../src/ledger/database/database';
import { ShutdownGuard } from '../../src/http/server/shutdown';
import { LedgerService } from '../../src/ledger/ledger.service';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { type Answer, send } from '../support/application/send';

const LIVE = '/api/v1/health/live';
const READY = '/api/v1/health/ready';
const WITHOUT_KEY = { key: null };

describe('The probes', () => {
  let app: TestApp;

  beforeEach(async () => {
    app = await createTestApp({ environment: { RATE_LIMIT: '10' } });
  });
  afterEach(() => app.close());

  function ask(path: string): Promise<Answer> {
    return send(app, 'GET', path, WITHOUT_KEY);
  }

  it.each([LIVE, READY])('%s is healthy, without a key', async (path) => {
    const { status, body } = await ask(path);
    expect(status).toBe(200);
    expect(body).toEqual({ status: 'healthy', timestamp: expect.stringMatching(/^\d{4}-.*Z$/) });
  });

  it('say that the process is alive but not ready while commits fail', async () => {
    jest.spyOn(app.application.get(LedgerService), 'isHealthy', 'get').mockReturnValue(false);
    expect(await ask(READY)).toMatchObject({ status: 503, body: { status: 'unhealthy' } });
    expect(await ask(LIVE)).toMatchObject({ status: 200, body: { status: 'healthy' } });
  });

  it('say the same while the database does not answer', async () => {
    jest.spyOn(app.application.get(Database).points, 'all').mockRejectedValue(new Error('gone'));
    expect((await ask(READY)).status).toBe(503);
    expect((await ask(LIVE)).status).toBe(200);
  });

  it('report not ready while the service stops', async () => {
    app.application.get(ShutdownGuard).close();
    expect(await ask(READY)).toMatchObject({ status: 503, body: { error: { code: 'UNAVAILABLE' } } });
  });

  it('are counted separately from other requests', async () => {
    for (let request = 0; request < 11; request += 1) await send(app, 'GET', '/api/v1/stats');
    expect((await send(app, 'GET', '/api/v1/stats')).status).toBe(429);
    expect((await ask(LIVE)).status).toBe(200);
    expect((await ask(READY)).headers.get('x-ratelimit-remaining')).toBe('8');
  });
});
