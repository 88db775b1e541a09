import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describeOnSqlite } from '../support/database/database-kind';
import { createEntity } from '../support/application/factories';
import { ROOT } from '../support/documents/markdown';
import { startProgram, type StartedProgram } from '../support/processes/started-program';
import { WebhookEndpoint } from '../support/application/webhook-endpoint';

/** Milliseconds: longer than the lease for deliveries is valid if several processes share a database. */
const HELD_UP = 8_000;
const EVENTS = 10;

/** The service is suspended like one on an overloaded or sleeping machine. */
describeOnSqlite('Webhooks of a suspended service on a SQLite file', () => {
  let program: StartedProgram;
  let endpoint: WebhookEndpoint;

  beforeAll(async () => {
    const allowed = { WEBHOOK_ALLOW_HTTP: 'true', WEBHOOK_ALLOW_PRIVATE: 'true' };
    program = await startProgram(join(ROOT, 'dist', 'main.js'), allowed);
    endpoint = await WebhookEndpoint.start();
    const body = { url: endpoint.url, actions: ['entity.*'] };
    expect((await program.send('POST', '/api/v1/webhooks', { body })).status).toBe(201);
  });
  afterAll(async () => {
    await program.stop();
    await endpoint.close();
  });

  it('are delivered once, including the one that was confirmed meanwhile', async () => {
    const isHeldUp = new Promise<void>((resolve) => {
      endpoint.answering = (response, _received, index) => {
        if (index === 2) {
          program.process.kill('SIGSTOP');
          resolve();
        }
        response.writeHead(204).end();
      };
    });
    // Answered when the service resumes, if it was suspended before.
    const first = Promise.all(Array.from({ length: 3 }, () => createEntity(program)));
    await isHeldUp;
    await sleep(HELD_UP);
    program.process.kill('SIGCONT');
    await first;
    for (let made = 3; made < EVENTS; made += 1) await createEntity(program);
    await endpoint.until(EVENTS);
    // A repeated delivery would arrive before that of the last entry.
    expect(new Set(endpoint.sequences).size).toBe(EVENTS);
    expect(endpoint.sequences).toHaveLength(EVENTS);
  });
});
