import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { temporaryDatabase, type TemporaryDatabase } from '../support/database/temporary-database';
import { ROOT } from '../support/documents/markdown';
import { send } from '../support/application/send';
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

  async function isStopping(): Promise<boolean> {
    const ready = await send(program, 'GET', '/api/v1/health/ready').catch(() => ({ status: 503 }));
    return ready.status === 503;
  }

  it('is answered if that is stopped', async () => {
    const { body } = await program.send('POST', '/api/v1/webhooks', { body: { url: endpoint.url, actions: ['none'] } });
    endpoint.answering = () => undefined;
    const stopped = send(program, 'POST', `/api/v1/webhooks/${body.id}/test`);
    await endpoint.until(1);
    await program.stop();
    const { status, body: result } = await stopped;
    expect([status, result]).toEqual([200, { status: null, durationMs: expect.any(Number) }]);
    expect(endpoint.received).toHaveLength(1);
  });

  it('is answered with a confirmation that comes while that stops', async () => {
    program = await start();
    const { body } = await program.send('POST', '/api/v1/webhooks', { body: { url: endpoint.url, actions: ['none'] } });
    const count = endpoint.received.length + 1;
    let confirm = (): void => undefined;
    endpoint.answering = (response) => (confirm = () => response.writeHead(204).end());
    const stopped = send(program, 'POST', `/api/v1/webhooks/${body.id}/test`);
    await endpoint.until(count);
    const ended = program.stop();
    while (!(await isStopping())) await sleep(10);
    confirm();
    const { status, body: result } = await stopped;
    expect([status, result]).toEqual([200, { status: 204, durationMs: expect.any(Number) }]);
    expect(await ended).toBe(0);
    expect(endpoint.received).toHaveLength(count);
  });
});
