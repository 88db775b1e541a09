import { join } from 'node:path';
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
});
