import { join } from 'node:path';
import { lapse, leaseHolders } from '../support/database/leases';
import { temporaryDatabase, type TemporaryDatabase } from '../support/database/temporary-database';
import { ROOT } from '../support/documents/markdown';
import { send, type Answer } from '../support/application/send';
import { startProgram, type StartedProgram } from '../support/processes/started-program';
import { WebhookEndpoint } from '../support/application/webhook-endpoint';

const MAIN = join(ROOT, 'dist', 'main.js');
const ALLOWED = { WEBHOOK_ALLOW_HTTP: 'true', WEBHOOK_ALLOW_PRIVATE: 'true' };

describe('A test of a webhook during which the service ends', () => {
  let database: TemporaryDatabase;
  let endpoint: WebhookEndpoint;
  let program: StartedProgram;

  beforeAll(async () => {
    database = await temporaryDatabase();
    endpoint = await WebhookEndpoint.start();
    program = await start();
  });
  afterAll(async () => {
    await program.stop('SIGKILL');
    await endpoint.close();
    await database.remove();
  });

  function start(): Promise<StartedProgram> {
    return startProgram(MAIN, { ...database.environment, ...ALLOWED, LOG_LEVEL: 'fatal' });
  }

  /** A test under a key, of a new webhook whose endpoint does not answer. */
  async function silentTest(): Promise<(key: string) => Promise<Answer>> {
    const { body } = await program.send('POST', '/api/v1/webhooks', { body: { url: endpoint.url, actions: ['none'] } });
    endpoint.answering = () => undefined;
    return (key) => send(program, 'POST', `/api/v1/webhooks/${body.id}/test`, { headers: { 'Idempotency-Key': key } });
  }

  it('is answered, and never sent again under its idempotency key, if that is stopped', async () => {
    const test = await silentTest();
    const before = endpoint.received.length;
    const stopped = test('stopped');
    await endpoint.until(before + 1);
    await program.stop();
    const first = await stopped;
    expect([first.status, first.body]).toEqual([200, { status: null, durationMs: expect.any(Number) }]);
    program = await start();
    expect((await test('stopped')).body).toEqual(first.body);
    expect(endpoint.received).toHaveLength(before + 1);
  });

  it('is not repeated under its idempotency key if that is killed', async () => {
    const test = await silentTest();
    const before = endpoint.received.length;
    const interrupted = test('killed').catch(() => null);
    await endpoint.until(before + 1);
    const { DATABASE_URL: url } = database.environment;
    const holders = await leaseHolders(url);
    await program.stop('SIGKILL');
    expect(await interrupted).toBeNull();
    program = await start();
    await lapse(url, holders);
    endpoint.answering = (response) => response.writeHead(204).end();
    for (let repeat = 0; repeat < 2; repeat += 1) {
      const { status, body: refusal } = await test('killed');
      expect([status, refusal.error.code]).toEqual([409, 'CONFLICT']);
      expect(refusal.error.message).toContain('interrupted');
    }
    expect(endpoint.received).toHaveLength(before + 1);
    expect((await test('another')).body).toMatchObject({ status: 204 });
    expect(endpoint.received).toHaveLength(before + 2);
  });
});
